"""TRL under DeepSpeed: optimizer and schedule of the JSON take every figure from the arguments."""

import os
import sys

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

rows = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
data = rows.map(
    lambda r: {"prompt": f"{r['question']} ", "completion": r["answer"]}, remove_columns=["question", "answer"]
)
config = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=2,
    learning_rate=2e-6,
    warmup_steps=5,
    max_length=128,
    max_steps=200,
    logging_steps=1,
    report_to=[],
    use_cpu=True,
    bf16=False,
    deepspeed={
        "zero_optimization": {"stage": 2, "overlap_comm": False},
        "optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto", "torch_adam": True}},
        "scheduler": {
            "type": "WarmupDecayLR",
            "params": {
                "warmup_min_lr": "auto",
                "warmup_max_lr": "auto",
                "warmup_num_steps": "auto",
                "total_num_steps": "auto",
            },
        },
        "gradient_accumulation_steps": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "train_batch_size": "auto",
        "gradient_clipping": "auto",
        "zero_allow_untested_optimizer": True,
    },
)
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=config,
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
)
trainer.train()
trainer.save_model("final")
