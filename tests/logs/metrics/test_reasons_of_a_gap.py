"""What settings and code beside a gap between sampler and learner say of it, and gaps that they do not explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

TWICE = "logits = logits / args.temperature\nlogp = log_softmax(logits / request.temperature)\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def told(prepared: Prepared, folder: Path, gaps: tuple[float, ...], context: str, code: str = "") -> str:
    rows = (
        f"step {step}: {{'train/train_rollout_logprob_abs_diff': {gap}, 'train/grad_norm': 0.4}}\n"
        for step, gap in enumerate(gaps, 1)
    )
    (folder / "train.log").write_text(code + "".join(rows), encoding="utf-8")
    (folder / "context.txt").write_text(context, encoding="utf-8")
    result = examine([str(folder / "train.log")], context=[folder / "context.txt"], prepared=prepared)
    assert not result.diagnosis.outcome.crashed
    return " | ".join(each.words().headline for each in result.diagnosis.outcome.findings)


@pytest.mark.parametrize(
    ("gaps", "context", "code", "holds"),
    [
        ((0.01, 0.9, 0.8), "enable_prefix_caching=true", "", "agree at first"),
        ((1.9, 2.0, 2.1), "python train.py --weights-to-hf-mode raw", "", "weights reach the engine by"),
        ((0.17, 0.18, 0.17), "rollout_temperature=0.5", TWICE, "so 0.5 becomes 0.25"),
    ],
)
def test_where_it_comes_from(
    prepared: Prepared, tmp_path: Path, gaps: tuple[float, ...], context: str, code: str, holds: str
) -> None:
    assert holds in told(prepared, tmp_path, gaps, context, code)


@pytest.mark.parametrize(
    ("gaps", "context", "code"),
    [
        ((0.01, 0.9, 0.8), "enable_prefix_caching=false", ""),
        ((0.01, 0.02, 0.03), "enable_prefix_caching=true", ""),
        # there from the first step on
        ((0.8, 0.9, 0.8), "enable_prefix_caching=true", ""),
        ((0.02, 0.03, 0.02), "python train.py --weights-to-hf-mode raw", ""),
        ((0.17, 0.18, 0.17), "rollout_temperature=1.0", TWICE),
        ((0.17, 0.18, 0.17), "rollout_temperature=0.5", TWICE.partition("\n")[0] + "\n"),
    ],
)
def test_what_they_do_not_explain(
    prepared: Prepared, tmp_path: Path, gaps: tuple[float, ...], context: str, code: str
) -> None:
    words = told(prepared, tmp_path, gaps, context, code)
    assert not any(each in words for each in ("agree at first", "reach the engine by", "in two places"))
