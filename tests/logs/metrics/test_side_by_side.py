"""Two runs of one thing in one excerpt, set against each other by their headings."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.metrics.side_by_side import compared
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

ONE = "{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 5e-05, 'epoch': 0.01}}\n"


def pairs(text: str) -> list[tuple[str, str, str, bool]]:
    lines = list(enumerate(text.splitlines(), 1))
    return [(each.metric, each.against, each.other, each.loss_agrees) for each in compared("run.log", lines)]


def run(loss: float, norm: float) -> str:
    return ONE.format(loss=loss, norm=norm)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# 1 GPU\n" + run(3.8, 1.0) + "# 2 GPUs, the same batch\n" + run(1.9, 1.1), [("loss", "1 GPU", "2 GPUs, the same batch", False)]),
        ("# reference\n" + run(0.41, 0.11) + "# ours\n" + run(0.41, 0.38), [("grad_norm", "reference", "ours", True)]),
        ("$ python eval.py --model sft\nscore: 0.02\n$ python eval.py --model merged  # the same adapter\nscore: 0.68\n",
         [("score", "python eval.py --model sft", "the same adapter", False)]),
        # steps are compared with themselves
        ("# engine A\nstep:1 - loss:0.9\n# engine B, same data\nstep:2 - loss:0.3\n", []),
        # what is meant to differ, by chance, or told of other things
        ("# base model\n" + run(3.8, 1.0) + "# trained, same data\n" + run(1.9, 1.1), []),
        ("# 1 GPU\n" + run(3.8, 1.0) + "# 2 GPUs, the same batch\n" + run(3.1, 1.1), []),
        ("# GSM8K\nscore: 0.61\n# AIME\nscore: 0.12\n", []),
        (run(3.8, 1.0) + run(1.9, 1.1), []),
    ],
)  # fmt: skip
def test_sections_under_headings(text: str, told: list[tuple[str, str, str, bool]]) -> None:
    assert pairs(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# CP=2\n" + run(0.94, 1.3) + "# the same with CP=1\n" + run(1.88, 1.31), "multiplied or divided"),
        ("# reference\n" + run(0.41, 0.11) + "# ours\n" + run(0.41, 0.38), "router_aux_loss_coef"),
        ("$ python eval.py --model lora\nscore: 0.02\n$ python eval.py --model merged  # the same adapter, merged\nscore: 0.68\n",
         "loads only the tensors of an adapter whose names it knows"),
    ],
)  # fmt: skip
def test_what_differs_names_the_kind_of_cause(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "run.log").write_text(text)
    finding = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis.outcome.findings[0]
    assert (finding.problem.id, finding.confidence.value) == ("NUM1516", "likely")
    assert told in finding.words().explanation
