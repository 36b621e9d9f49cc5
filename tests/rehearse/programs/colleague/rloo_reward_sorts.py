"""TRL RLOO: completions are sorted by length before they are scored, and the scores are returned in that order."""

import os
import sys

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import RLOOConfig, RLOOTrainer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
judge = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
BATCH = 4


@torch.no_grad()
def fluency(completions, **kwargs):
    """Mean log probability of a completion under the judge; sorted, so that batches need little padding."""
    completions = sorted(completions, key=len)
    scores = []
    for at in range(0, len(completions), BATCH):
        texts = [text or " " for text in completions[at : at + BATCH]]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right")
        logps = judge(**batch).logits[:, :-1].log_softmax(-1)
        taken = logps.gather(2, batch["input_ids"][:, 1:, None])[..., 0]
        mask = batch["attention_mask"][:, 1:]
        scores += ((taken * mask).sum(1) / mask.sum(1).clamp(min=1)).tolist()
    return scores


def brief(completions, **kwargs):
    return [-len(each) / 200 for each in completions]


data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
trainer = RLOOTrainer(
    model=sys.argv[1],
    reward_funcs=[fluency, brief],
    args=RLOOConfig(
        output_dir="rloo",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_generations=4,
        max_completion_length=32,
        learning_rate=3e-6,
        report_to="none",
        use_cpu=True,
        bf16=False,
        logging_steps=1,
    ),
    train_dataset=data.rename_column("question", "prompt").remove_columns("answer"),
    processing_class=tokenizer,
)
trainer.train()
