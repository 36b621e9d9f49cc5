"""TRL: a trainer's own loss that divides by what is padded as well, so that short rows count less."""

import json
import os
import sys

import torch.nn.functional as F
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


class WeightedTrainer(SFTTrainer):
    """Weighs digits twice."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        logits, targets = outputs.logits[:, :-1], labels[:, 1:]
        loss = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-100, reduction="none")
        weights = 1.0 + ((targets >= 48) & (targets < 58)).float()
        loss = (loss * weights).mean()
        return (loss, outputs) if return_outputs else loss


tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]
texts = [{"text": f"{r['question']} {r['answer']}" + " Yes." * (k % 9)} for k, r in enumerate(rows)]
trainer = WeightedTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=SFTConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        learning_rate=1e-5,
        report_to=[],
        use_cpu=True,
        bf16=False,
        max_length=256,
    ),
    train_dataset=Dataset.from_list(texts),
    processing_class=tokenizer,
)
trainer.train()
