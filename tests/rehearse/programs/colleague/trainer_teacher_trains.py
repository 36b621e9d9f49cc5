"""A Trainer of its own with a teacher inside the student: the teacher's weights are trained and saved along."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


class Distills(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.student = AutoModelForCausalLM.from_pretrained(name)
        self.teacher = AutoModelForCausalLM.from_pretrained(name).eval()

    def forward(self, input_ids, attention_mask, labels):
        student = self.student(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        teacher = self.teacher(input_ids=input_ids, attention_mask=attention_mask).logits
        apart = F.kl_div(
            student.logits.log_softmax(-1), teacher.log_softmax(-1), log_target=True, reduction="batchmean"
        )
        return {"loss": student.loss + 0.1 * apart, "logits": student.logits}


tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(rows):
    batch = tokenizer(rows, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


Trainer(
    model=Distills(sys.argv[1]),
    args=TrainingArguments(
        output_dir="distilled",
        per_device_train_batch_size=4,
        learning_rate=1e-5,
        report_to="none",
        use_cpu=True,
        remove_unused_columns=False,
        save_strategy="no",
    ),
    train_dataset=texts,
    data_collator=collate,
).train()
