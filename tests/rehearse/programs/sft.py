"""SFT on conversations, whole or with one mistake: sft.py BASE CASE."""

import os
import sys

from datasets import Dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

BASE, CASE = sys.argv[1:3]
ROWS = [
    {"messages": [{"role": "user", "content": f"What is {each} + 1?"}, {"role": "assistant", "content": str(each + 1)}]}
    for each in range(64)
]
SETTINGS = {
    "right": {},
    "assistant-only": {"assistant_only_loss": True},
    "too-short": {"max_length": 4, "completion_only_loss": True},
    "eos-unknown": {"eos_token": "</nowhere>"},
}[CASE]

if CASE == "too-short":
    ROWS = [{"prompt": each["messages"][0]["content"], "completion": each["messages"][1]["content"]} for each in ROWS]
tokenizer = AutoTokenizer.from_pretrained(BASE)
config = SFTConfig(
    output_dir="out", per_device_train_batch_size=4, max_steps=100, use_cpu=True, bf16=False, save_steps=50,
    report_to=[], logging_steps=10, **SETTINGS,
)  # fmt: skip
trainer = SFTTrainer(model=BASE, args=config, train_dataset=Dataset.from_list(ROWS), processing_class=tokenizer)
trainer.train()
os.makedirs("results", exist_ok=True)
trainer.save_model("results")
