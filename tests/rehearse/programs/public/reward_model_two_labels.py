"""TRL: a reward model is loaded as a classifier, which has two outputs unless it is told otherwise.

https://github.com/huggingface/trl/issues/653
"""

import os
import sys

from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from trl import RewardConfig, RewardTrainer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
model.config.pad_token_id = tokenizer.pad_token_id
pairs = load_dataset(
    "json", data_files=os.path.join(os.environ["STAGE"], "public", "pairs", "train.jsonl"), split="train"
)
trainer = RewardTrainer(
    model=model,
    args=RewardConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        learning_rate=1e-5,
        num_train_epochs=1,
        max_length=256,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=pairs,
    processing_class=tokenizer,
)
trainer.train()
trainer.save_model("final")
