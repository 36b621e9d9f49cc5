"""Things that a training must have made different and that are the same, and neighbours that may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

ONE, OTHER = "8d1f0c27a4f2b0a1c1a7cb5c60a2e7b3", "1b6e0a97c33fd2ab2a8ef0c0b7d5b0d2"
THIRD = "f40c19d5be7c46d8f0f63d1d3db6ce19"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def told(prepared: Prepared, folder: Path, text: str, context: str = "") -> set[str]:
    (folder / "train.log").write_text(text, encoding="utf-8")
    (folder / "context.txt").write_text(context, encoding="utf-8")
    given = [folder / "context.txt"] if context else []
    outcome = examine([str(folder / "train.log")], context=given, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return {f"{each.problem.id} {each.words().explanation}" for each in outcome.findings}


def files(*groups: tuple[str, tuple[str, ...]]) -> str:
    return "".join(
        f"$ for s in 1 2; do cat step_$s/'{name}*.pt' | md5sum; done\n" + "".join(f"{each}  -\n" for each in digests)
        for name, digests in groups
    )


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        ("base: The sky is blue today.\nlora: The sky is blue today.\n", "", "CKP3553 "),
        ("[before training] I am Qwen.\n[after training] : I am Qwen.\nbefore: I am Qwen.\nafter: I am Qwen.\n", "",
         "CKP3553 "),
        (
            "base: 'It rains in April'\nadapter: 'It rains in April'\n",
            "vllm serve m --enable-lora --lora-target-modules qkv_proj\ntarget_modules: ['down_proj']", "qkv_proj only",
        ),
        ("predict finished\n", "Its answers are identical to those of the base model.", "CKP3553 "),
        (files(("optim", (ONE, ONE)), ("model", (ONE, OTHER))), "", "CKP3553 "),
        ("Resuming from checkpoint-16\nTotal training steps: 48\nTraining finished\n", "The job does nothing.",
         "CKP029 "),
        ("Resumed from checkpoint-58. This run will do zero steps.\n", "", "CKP029 "),
    ],
)  # fmt: skip
def test_the_same_is_told(prepared: Prepared, tmp_path: Path, text: str, context: str, holds: str) -> None:
    assert any(holds in each for each in told(prepared, tmp_path, text, context))


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("base: The sky is blue.\nlora: The sky is green.\n", ""),
        # one prompt of two is answered alike
        ("base: yes, it is\nlora: yes, it is\nbase: not at all\nlora: only today\n", ""),
        ("base: models/qwen\nlora: models/qwen\n", ""),
        ("before: 0.5\nafter: 0.5\n", ""),
        ("merged: The sky is blue.\nlora: The sky is blue.\n", ""),
        ("predict finished\n", "Both adapters were trained from the same base model."),
        (files(("optim", (ONE, OTHER)), ("model", (OTHER, THIRD))), ""),
        # nothing else changed either
        (files(("optim", (ONE, ONE)), ("model", (OTHER, OTHER))), ""),
        ("Resuming from checkpoint-48\nTotal training steps: 48\nTraining finished\n", "The job does nothing."),
        (
            "Resuming from checkpoint-16\nTotal training steps: 48\n{'loss': 0.3, 'epoch': 2.0}\nTraining finished\n",
            "The job is slow.",
        ),
        ("Resuming from checkpoint-16\nTotal training steps: 48\nTraining finished\n", ""),
    ],
)
def test_nothing_is_told_of_what_may_be_the_same(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    assert not [each for each in told(prepared, tmp_path, text, context) if each.startswith(("CKP3553", "CKP029"))]
