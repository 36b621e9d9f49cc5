"""What the pool's scorer makes of a first finding."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

TOOLS = Path(__file__).parent.parent.parent / "tools"
LABEL = {"expected": ["NCC001"], "answer_must_match": ["interface", "eth2"]}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.delitem(sys.modules, "score_corpus", raising=False)
    return importlib.import_module("score_pool")


def _report(found: str, certainty: str, words: str) -> dict[str, Any]:
    confidence, severity = certainty.split()
    remedy = {"text": "", "commands": []}
    first = {"id": found, "confidence": confidence, "severity": severity, "headline": words, "explanation": ""}
    return {"findings": [{**first, "remedy": remedy}]}


@pytest.mark.parametrize(
    ("found", "certainty", "words", "result"),
    [
        ("NCC001", "likely warning", "", "right"),
        ("NCC018", "likely error", "the interface eth2 is not there", "right"),
        ("NCC018", "likely error", "the interface is not there", "wrong"),
        ("NCC018", "confirmed error", "a rank died", "wrong and confident"),
        ("NCC018", "confirmed warning", "a rank died", "wrong"),
        ("UNK001", "likely warning", "it names eth2 and an interface", "unknown"),
    ],
)
def test_verdict(tool: ModuleType, found: str, certainty: str, words: str, result: str) -> None:
    assert tool.verdict(_report(found, certainty, words), LABEL) == result


def test_no_finding_is_unknown(tool: ModuleType) -> None:
    assert tool.verdict({"findings": []}, LABEL) == "unknown"


def test_an_unknown_that_the_label_expects_is_right(tool: ModuleType) -> None:
    label = {**LABEL, "expected": ["UNK002"]}
    assert tool.verdict(_report("UNK002", "likely warning", ""), label) == "right"
