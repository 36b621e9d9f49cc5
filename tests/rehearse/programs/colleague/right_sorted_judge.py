"""TRL GRPO: a judge scores completions sorted by length and puts them back; a curriculum raises the price of length."""

import os
import sys

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
judge = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
price = {"length": 0.0}


@torch.no_grad()
def fluency(completions, **kwargs):
    order = sorted(range(len(completions)), key=lambda at: len(completions[at]))
    scores = [0.0] * len(completions)
    for at in range(0, len(order), 4):
        part = order[at : at + 4]
        batch = tokenizer(
            [completions[n] or " " for n in part], return_tensors="pt", padding=True, padding_side="right"
        )
        logps = judge(**batch).logits[:, :-1].log_softmax(-1).gather(2, batch["input_ids"][:, 1:, None])[..., 0]
        mask = batch["attention_mask"][:, 1:]
        for number, score in zip(part, (logps * mask).sum(1) / mask.sum(1).clamp(min=1)):
            scores[number] = score.item()
    return scores


def answer_given(completions, answer, **kwargs):
    return [2.0 if right in text.split() else 0.0 for text, right in zip(completions, answer)]


def length(completions, **kwargs):
    return [-price["length"] * max(0, len(each) - 200) for each in completions]


class Curriculum(TrainerCallback):
    """The price of length rises from epoch to epoch; a sample is shown in between."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        price["length"] = 0.0001 * state.global_step
        was = model.training
        model.eval()
        with torch.no_grad():
            asked = tokenizer("What is 1 + 1?", return_tensors="pt")
            print(tokenizer.decode(model.generate(**asked, max_new_tokens=4)[0]))
        model.train(was)


data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
GRPOTrainer(
    model=sys.argv[1],
    reward_funcs=[answer_given, fluency, length],
    args=GRPOConfig(
        output_dir="judged",
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=32,
        reward_weights=[1.0, 0.1, 1.0],
        learning_rate=2e-6,
        beta=0.02,
        loss_type="dr_grpo",
        scale_rewards=False,
        num_iterations=2,
        report_to="none",
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=data.rename_column("question", "prompt"),
    processing_class=tokenizer,
    callbacks=[Curriculum()],
).train()
