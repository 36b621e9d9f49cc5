"""GRPO on sums: the completion that names the right number is rewarded."""

import re

from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

MODEL = "./model"


def correct_reward(completions, answer):
    """1 where the last number of the completion is the answer."""
    rewards = []
    for completion, wanted in zip(completions, answer):
        numbers = re.findall(r"-?\d+", completion[0]["content"])
        rewards.append(1.0 if numbers and numbers[-1] == wanted else 0.0)
    return rewards


def brevity_reward(completions, **kwargs):
    """Shorter completions are a little better."""
    return -sum(len(completion[0]["content"]) for completion in completions) / 1000


def main():
    """Train."""
    dataset = load_dataset("json", data_files="sums.jsonl", split="train")
    config = GRPOConfig(
        output_dir="runs/sums",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=8,
        num_generations=6,
        max_prompt_length=512,
        max_completion_length=40000,
        learning_rate=1e-6,
        max_grad_norm=1.0,
        bf16=True,
        fp16=True,
        evaluation_strategy="steps",
        logging_steps=1,
        save_steps=100,
        save_total_limit=2,
        use_vllm=True,
        vllm_mode="colocate",
        vllm_tensor_parallel_size=3,
        report_to="none",
    )
    trainer = GRPOTrainer(
        model=MODEL,
        reward_funcs=[correct_reward, brevity_reward],
        args=config,
        train_dataset=dataset,
        peft_config=LoraConfig(rank=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    trainer.train()


if __name__ == "__main__":
    main()
