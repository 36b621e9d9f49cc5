from trl import GRPOConfig


def format_reward(completions, **kwargs):
    return [1.0 for _ in completions]


def lengths(completions):
    return 1.0


if __name__ == "__main__":
    GRPOConfig(output_dir="never used when imported")
