"""TRL with LoRA: several targets in one text are a pattern that must match a module's whole name.

https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/tuners_utils.py (`re.fullmatch`)
"""

import os
import sys

from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "public", "sft", "train.jsonl"), split="train")
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=SFTConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        learning_rate=1e-4,
        num_train_epochs=1,
        max_length=128,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="q_proj|k_proj|v_proj|o_proj", task_type="CAUSAL_LM"),
)
trainer.train()
