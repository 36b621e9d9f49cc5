"""GRPO as it is written for a machine with a card: all that only a card runs is asked for. card.py BASE"""

import os
import sys

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import GRPOConfig, GRPOTrainer

BASE = sys.argv[1]


def right_answer(completions, answer, **_):
    return [1.0 if each.rpartition("####")[2].strip() == right else 0.0 for each, right in zip(completions, answer)]


data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
data = data.map(lambda row: {"prompt": f"{row['question']} Answer with ####."}, remove_columns=["question"])
quantised = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained(
    BASE, attn_implementation="flash_attention_2", quantization_config=quantised, device_map={"": 0}
)
config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=64, learning_rate=1e-5,
    save_steps=50, report_to=[], use_vllm=True, vllm_mode="colocate", use_liger_kernel=True, optim="paged_adamw_8bit",
)  # fmt: skip
trainer = GRPOTrainer(
    model=model, args=config, train_dataset=data, processing_class=AutoTokenizer.from_pretrained(BASE),
    reward_funcs=right_answer,
    peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
)  # fmt: skip
trainer.train()
