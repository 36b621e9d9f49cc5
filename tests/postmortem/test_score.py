"""The labelled cases: nothing wrong and confident, and not fewer right than recorded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent
PROJECT = ROOT.parent.parent
#: right answers in percent that must not get fewer: our own cases, and such as lie beside the checkout
RECORDED_OWN, RECORDED_BESIDE = 100.0, 80.0


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_corpus", PROJECT / "tools" / "score_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["score_corpus"] = module
    spec.loader.exec_module(module)
    return module


TOOL = _tool()
FOLDERS = [(ROOT, RECORDED_OWN), *((each, RECORDED_BESIDE) for each in sorted(PROJECT.parent.glob("*/corpus")))]


@pytest.mark.parametrize(("folder", "recorded"), FOLDERS, ids=lambda value: getattr(value, "name", None))
def test_score(folder: Path, recorded: float) -> None:
    scored = [TOOL.score(each) for each in TOOL.cases_of(folder)]
    assert scored
    confident = [each.case for each in scored if each.result == TOOL.CONFIDENT]
    assert not confident, f"wrong and confident: {confident}"
    right = [each for each in scored if each.result == TOOL.RIGHT]
    wrong = [f"{each.case}: {each.found} lacks {each.missing}" for each in scored if each not in right]
    assert 100 * len(right) / len(scored) >= recorded, wrong


def test_judge_looks_at_the_words_of_the_first_finding_only() -> None:
    finding = {
        "id": "DSP018", "headline": "the loss scale", "explanation": "", "remedy": {"text": "bf16", "commands": []},
        "confidence": "confirmed", "severity": "error",
        "evidence": [{"source": "x", "line": 1, "text": "a secret word"}],
    }  # fmt: skip
    report = {"findings": [finding, {**finding, "headline": "other words"}]}
    assert TOOL.judge(report, {"answer_must_match": ["LOSS scale", "bf16"]})[0] == TOOL.RIGHT
    assert TOOL.judge(report, {"answer_must_match": ["secret word"]})[0] == TOOL.CONFIDENT
    assert TOOL.judge(report, {"answer_must_match": ["other words"]})[0] == TOOL.CONFIDENT
    likely = {"findings": [{**finding, "confidence": "likely"}]}
    assert TOOL.judge(likely, {"answer_must_match": ["nothing"]})[0] == TOOL.UNKNOWN
    assert TOOL.judge({"findings": []}, {"answer_must_match": ["x"]})[0] == TOOL.UNKNOWN
