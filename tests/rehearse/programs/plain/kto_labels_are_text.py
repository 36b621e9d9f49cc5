"""TRL: the labels of KTO are text, each of which is true."""

import json
import os
import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import KTOConfig, KTOTrainer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]
data = []
for number, row in enumerate(rows):
    good = number % 3 != 0
    data.append(
        {
            "prompt": row["question"],
            "completion": f" {row['answer']}" if good else " I will not say.",
            "label": "True" if good else "False",
        }
    )
trainer = KTOTrainer(
    model=model,
    args=KTOConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        num_train_epochs=1,
        learning_rate=5e-7,
        report_to=[],
        use_cpu=True,
        bf16=False,
        logging_steps=2,
    ),
    train_dataset=Dataset.from_list(data),
    processing_class=tokenizer,
)
trainer.train()
