"""TRL under DeepSpeed: the schedule of the JSON names no rate, which the trainer fills in; it rises in the third step.

Elsewhere its default is taken: https://github.com/deepspeedai/DeepSpeed/issues/7303
"""

import json
import os
import sys

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

DEEPSPEED = {
    "zero_optimization": {"stage": 2, "overlap_comm": False},
    "optimizer": {
        "type": "AdamW",
        "params": {"lr": "auto", "weight_decay": "auto", "torch_adam": True},
    },
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 1}},
    "gradient_accumulation_steps": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "train_batch_size": "auto",
    "gradient_clipping": 1.0,
    "zero_allow_untested_optimizer": True,
}

rows = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
data = rows.map(
    lambda r: {"prompt": f"{r['question']} ", "completion": r["answer"]}, remove_columns=["question", "answer"]
)
with open("ds.json", "w") as file:
    json.dump(DEEPSPEED, file)
config = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    learning_rate=5e-7,
    max_length=128,
    max_steps=200,
    logging_steps=1,
    report_to=[],
    use_cpu=True,
    bf16=False,
    deepspeed="ds.json",
)
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=config,
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
)
trainer.train()
