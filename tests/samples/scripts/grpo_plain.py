# doctor: ignore[TRL013] the smoke run is this small on purpose
"""GRPO on a local file, everything in one script."""

import os

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

os.environ["NCCL_DEBUG"] = "INFO"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["WANDB_API_KEY"] = "0123456789abcdef0123456789abcdef01234567"
if os.environ.get("SLOW_LINK"):
    os.environ["NCCL_IB_DISABLE"] = "1"

MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
G = 8
RUN = f"{MODEL.split('/')[-1]}-g{G}"
STEPS = G * 25


def format_reward(completions, **kwargs):
    return [1.0 if "<answer>" in text else 0.0 for text in completions]


dataset = load_dataset("json", data_files="prompts.jsonl", split="train")
tokenizer = AutoTokenizer.from_pretrained(MODEL, padding_side="left")
model = AutoModelForCausalLM.from_pretrained(
    MODEL, torch_dtype=torch.bfloat16, attn_implementation="flash_attention_2"
)
peft_config = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")

training_args = GRPOConfig(
    output_dir=f"runs/{MODEL}",
    learning_rate=5e-7,
    num_generations=G,
    max_steps=STEPS,
    per_device_train_batch_size=1 << 2,
    warmup_ratio=1 / 10,
    run_name=RUN,
    save_steps=int(os.environ.get("SAVE_STEPS", 100)),
    max_prompt_length=512,  # doctor: ignore[TRL2205/unknown, TRL2205/removed] pinned to the old release
    report_to=["wandb"],
    hub_token="hf_abcdefghijklmnopqrstuvwxyz",
    model_init_kwargs={"use_cache": False, "dtype": torch.bfloat16},
)
training_args.bf16 = True
if torch.cuda.device_count() > 4:
    training_args.gradient_accumulation_steps = 2

trainer = GRPOTrainer(
    model=model,
    reward_funcs=[format_reward],
    args=training_args,
    train_dataset=dataset.shuffle(seed=3),
    processing_class=tokenizer,
    peft_config=peft_config,
)
trainer.train()
