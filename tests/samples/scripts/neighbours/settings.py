from trl import GRPOConfig

MODEL = "Qwen/Qwen2.5-7B"
LEARNING_RATE = 1e-6


def make_config():
    return GRPOConfig(output_dir="out", learning_rate=LEARNING_RATE, num_generations=16)
