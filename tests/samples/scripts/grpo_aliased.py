import trl as t
from trl.trainer.grpo_config import GRPOConfig as C
from transformers import TrainingArguments as Unused


def main(lr=1e-6, generations: int = 4):
    config = C("out", learning_rate=lr, num_generations=generations)
    trainer = t.GRPOTrainer("Qwen/Qwen2.5-1.5B", reward, config, data())
    trainer.train()


def reward(prompts, completions):
    return [len(each) for each in completions]


def data():
    from datasets import load_dataset

    rows = load_dataset("trl-lib/tldr", split="train[:1%]")
    rows = rows.rename_column("query", "prompt")
    return rows


if __name__ == "__main__":
    main(generations=2 * 8)
