"""The order in which findings are told: by when they bite, not by id."""

from __future__ import annotations

import random

from doctor.catalogue.bites import STAGES, stage_of
from doctor.catalogue.finding import Finding, Message, Words
from doctor.catalogue.index import load
from doctor.catalogue.outcome import Skipped
from doctor.catalogue.problem import ERROR, WARNING, Problem
from doctor.diagnosis.runner import areas_of, bites_of, in_order_of_importance

MESSAGE = Message(Words("h", "e", "r"))


def one(name: str, severity: object = ERROR) -> Finding:
    return Finding(Problem(name, "x", severity, "0.1"), MESSAGE, severity=severity)  # type: ignore[arg-type]


def test_what_keeps_the_run_from_starting_comes_first() -> None:
    findings = [one("CKP001"), one("TRL001"), one("HUB001"), one("LCH002"), one("ACC001", WARNING)]
    random.Random(1).shuffle(findings)  # noqa: S311 - the same order every time
    ordered = [each.problem.id for each in in_order_of_importance(findings, {})]
    assert ordered == ["LCH002", "HUB001", "TRL001", "CKP001", "ACC001"]


def test_a_problem_may_say_it_itself() -> None:
    ordered = in_order_of_importance([one("TRL001"), one("TRL002")], {"TRL002": "start"})
    assert [each.problem.id for each in ordered] == ["TRL002", "TRL001"]


def test_every_problem_has_a_stage() -> None:
    entries = load()
    assert {stage_of(each.id, bites_of(entries), ends_run=each.ends_run) for each in entries} == set(STAGES)


def test_areas_count_what_was_judged_and_what_was_not() -> None:
    skipped = (Skipped("VLL001", "a"), Skipped("VLL001", "b"), Skipped("TRL001", "c", ignored=True))
    assert areas_of({"trl": 3}, skipped) == {"trl": (3, 0), "vllm": (0, 1)}
