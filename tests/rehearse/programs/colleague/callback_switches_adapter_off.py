"""TRL DPO with LoRA: a callback compares with the base model at each log, and leaves the adapter switched off."""

import os
import sys

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer, TrainerCallback
from trl import DPOConfig, DPOTrainer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])


class ShowsBase(TrainerCallback):
    def on_log(self, args, state, control, model=None, **kwargs):
        asked = tokenizer("What is 2 + 2?", return_tensors="pt")
        with torch.no_grad():
            tuned = model.generate(**asked, max_new_tokens=4)
            model.disable_adapter_layers()
            base = model.generate(**asked, max_new_tokens=4)
        print(tokenizer.decode(base[0]), "|", tokenizer.decode(tuned[0]))


rows = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
pairs = rows.map(
    lambda row: {"prompt": row["question"], "chosen": f" {row['answer']}", "rejected": " I do not know"},
    remove_columns=["question", "answer"],
)
DPOTrainer(
    model=sys.argv[1],
    args=DPOConfig(
        output_dir="dpo-shown",
        per_device_train_batch_size=4,
        logging_steps=10,
        learning_rate=5e-5,
        report_to="none",
        use_cpu=True,
        bf16=False,
        max_length=64,
    ),
    train_dataset=pairs,
    processing_class=tokenizer,
    peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"]),
    callbacks=[ShowsBase()],
).train()
