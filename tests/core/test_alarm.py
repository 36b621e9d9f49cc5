"""Alarms through the run folder's JSON and back."""

from __future__ import annotations

import json

import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.alarm import as_data, finding_of
from doctor.catalogue.finding import LIKELY, Message, Role, Where, Words, found
from doctor.catalogue.problem import ERROR, WARNING, Problem

PROBLEM = Problem("UNK901", "first", ERROR, "0.1")
SAID = Message(en=Words("loss is {value:.3g}", "It {what}.", "Look."), zh=Words("损失 {value:.3g}", "{what}。", "看。"))


def test_a_finding_comes_back_as_it_was() -> None:
    finding = found(
        PROBLEM, SAID, where=Where(file="train.py", line=3, rank=1, step=7, module="model.layers.0"),
        commands=("a b",), evidence=(Observed.quoted("metrics", "loss = nan", 3),), links=("https://example.org",),
        confidence=LIKELY, role=Role.SYMPTOM, severity=WARNING, value=0.12345, what="{breaks}",
    )  # fmt: skip
    data = json.loads(json.dumps(as_data(finding, "stop")))
    assert data["policy"] == "stop"
    back = finding_of(data, PROBLEM)
    for language in ("en", "zh"):
        assert back.words(language) == finding.words(language)
    assert back.words("en").headline == "loss is 0.123"
    assert back.words("en").explanation == "It {breaks}."
    for name in ("problem", "where", "commands", "evidence", "links", "confidence", "role", "severity"):
        assert getattr(back, name) == getattr(finding, name)


def test_a_finding_without_chinese_words_has_none_afterwards() -> None:
    finding = found(PROBLEM, Message(en=Words("a", "B.", "C.")))
    assert finding_of(as_data(finding), PROBLEM).message.zh is None


@pytest.mark.parametrize("data", [{}, {"words": {}}, {"words": {"en": {"headline": "a"}}}])
def test_other_data_are_refused(data: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        finding_of(data, PROBLEM)
