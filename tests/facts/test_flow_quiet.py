"""The flow of a script is told where the file shows it, and not where the same words mean something else."""

from __future__ import annotations

import ast

import pytest

from doctor.readers.script.flow import flow_of

ORDER = """
import random
from rows import CITIES, load
rows = load()
{lists}
random.shuffle(answers)
pairs = [{{"prompt": p, "labels": a}} for p, a in zip(prompts, answers)]
"""
PADDED = """
{made}
batch = tok(["one", "two words"], return_tensors="pt", padding=True)
out = model.generate(**batch, max_new_tokens=6)
"""
STAGES = """
from peft import get_peft_model
from torch.optim import AdamW

def fit(model, rows):
    optimizer = AdamW(model.parameters(), lr=1e-2)
    for row in rows:
        loss = model(**row).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

model = get_peft_model(base(), lora(), adapter_name="en")
{first}
model.add_adapter("fr", lora())
{second}
"""
LOOP = """
for row in rows:
    model(**row).loss.backward()
    optimizer.step()
"""


def told(code: str) -> list[str]:
    return [each.id for each in flow_of(ast.parse(code), code, whole=True)]


@pytest.mark.parametrize(
    ("lists", "is_told"),
    [
        ("prompts = [r['q'] for r in rows]\nanswers = [r['a'] for r in rows]", True),
        ("prompts = load()\nanswers = CITIES[:]", False),  # who lives where is drawn by lot, and stays so
        ("prompts = [f'p{i}' for i in range(9)]\nanswers = [f'a{i}' for i in range(9)]", False),
    ],
)
def test_lists_of_the_same_rows_are_shuffled_together(lists: str, is_told: bool) -> None:
    assert ("one_of_two_shuffled" in told(ORDER.format(lists=lists))) is is_told


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("tok = AutoTokenizer.from_pretrained(name)", True),
        ("def build():\n    return PreTrainedTokenizerFast(pad_token='<pad>')\ntok = build()", True),
        ("from tokens import build\ntok = build()", False),
        ("def main(tok):\n    pass", False),
    ],
)
def test_a_tokenizer_of_another_module_may_pad_on_the_left(made: str, is_told: bool) -> None:
    assert ("right_padding_in_generation" in told(PADDED.format(made=made))) is is_told


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [
        ("fit(model, rows)", "fit(model, more)", False),  # each stage has an optimizer of its own
        ("optimizer = AdamW(model.parameters(), lr=1e-2)", LOOP, True),
    ],
)
def test_an_optimizer_that_each_stage_makes_anew_holds_what_came_before(first: str, second: str, is_told: bool) -> None:
    code = STAGES.format(first=first, second=second)
    code = code if not is_told else code.replace(code[code.index("def fit") : code.index("model = get")], "")
    assert ("optimizer_before_change" in told(code)) is is_told


SHAPES = """
import torch
for batch in loader:
    out = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    {code}
    out.loss.backward()
"""


@pytest.mark.parametrize(
    "code",
    [
        'pairs = batch["attention_mask"][:, None, :] * batch["attention_mask"][:, :, None]',
        'total = out.logits.sum(-1) * batch["attention_mask"]',
        'lengths = batch["attention_mask"].sum(-1, keepdim=True); share = batch["attention_mask"] / lengths',
        "mean = out.logits.mean(dim=-1, keepdim=True); centred = out.logits - mean",
        "last = out.logits[:, -1, :]; gap = last - last.max(-1, keepdim=True).values",
        'part = batch["attention_mask"][:, start:] * other(batch)[:, start:]',
        "scores = torch.tensor(scores_list); table = scores.view(-1, 8); gap = table - table.mean(0)",
        'first = batch["input_ids"][0] * batch["attention_mask"][0]',
        "one = out.logits[mask] - out.logits[mask].mean(-1, keepdim=True)",
    ],
)
def test_shapes_that_fit_are_not_told(code: str):
    assert not told(SHAPES.format(code=code))
