"""Nodes that a problem cannot tell apart are one class to it, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.index import TRIGGERED, CheckEntry, Entry
from doctor.catalogue.problem import ERROR
from doctor.catalogue.shared import triggers
from doctor.catalogue.words import words_of
from doctor.diagnosis.nodes.classes import Classes
from tests.catalogue_helpers import ENTRIES

_SHARED = Observed.seen("everywhere")
_NONE = Observed.unseen("no launch command given")
_OTHER = Observed.unseen("did not answer", late=True)


def _nodes() -> list[dict[str, Observed]]:
    """Four: `host` is each node's own, `gpus` is of the first two, `launch` of none, `odd` fails in two ways."""
    return [
        {
            "host": Observed.seen(number),
            "packages": _SHARED,
            "gpus": _SHARED if number < 2 else _NONE,
            "launch": _NONE,
            "odd": _NONE if number % 2 else _OTHER,
        }
        for number in range(4)
    ]


def _problem(facts: Mapping[str, bool], *, affects: bool = False, requires: tuple[str, ...] = ()) -> Entry:
    check = CheckEntry("check", {name: (name, needed) for name, needed in facts.items()}, requires)
    return Entry("XXX001", "x", ERROR, "0.1", "x", "X", {"torch": ">=2"} if affects else {}, checks=(check,))


@pytest.mark.parametrize(
    ("facts", "classes"),
    [
        ({}, [[0, 1, 2, 3]]),
        ({"packages": True}, [[0, 1, 2, 3]]),
        ({"host": True}, [[0], [1], [2], [3]]),
        ({"host": False, "packages": True}, [[0], [1], [2], [3]]),
        ({"gpus": True}, [[0, 1], [2, 3]]),
        ({"gpus": False}, [[0, 1], [2, 3]]),
        ({"host": True, "launch": True}, [[0, 1, 2, 3]]),  # no node has a launch: whatever the host is
        ({"host": True, "launch": False}, [[0], [1], [2], [3]]),
        ({"launch": True, "host": True}, [[0, 1, 2, 3]]),
        ({"gpus": True, "host": True, "launch": True}, [[0, 1], [2, 3]]),  # two lack GPUs first, two the launch
        ({"host": True, "odd": True}, [[0, 2], [1, 3]]),
        ({"missing": True, "host": True}, [[0, 1, 2, 3]]),
    ],
)
def test_classes_are_those_of_what_decides(facts: dict[str, bool], classes: list[list[int]]) -> None:
    assert sorted(Classes(_nodes()).of(_problem(facts), {})) == classes


def test_one_that_is_mute_without_a_fact_has_one_class_where_no_node_has_it() -> None:
    facts = {"host": ("host", False), "launch": ("launch", False), "gpus": ("gpus", False)}
    classes = Classes(_nodes())
    for fact, expected in (("launch", [[0, 1, 2, 3]]), ("gpus", [[0], [1], [2], [3]]), ("", [[0], [1], [2], [3]])):
        check = CheckEntry("check", facts, mute_without=fact)
        assert sorted(classes.of(replace(_problem({}), checks=(check,)), {})) == expected


def test_versions_and_earlier_problems_tell_nodes_apart() -> None:
    nodes = _nodes()
    nodes[3]["packages"] = Observed.seen("another list")
    classes = Classes(nodes)
    assert sorted(classes.of(_problem({"launch": True}, affects=True), {})) == [[0, 1, 2], [3]]
    moot = _problem({"launch": True}, requires=("YYY001",))
    assert classes.of(moot, {"YYY001": {1}}) == [[0, 2, 3], [1]]
    assert Classes(nodes).of(moot, {"ZZZ001": {1}}) == [[0, 1, 2, 3]]


def test_triggers_are_mute_without_the_fact_that_is_named() -> None:
    triggered = next(each for each in ENTRIES if TRIGGERED in each.checks)
    facts = {name: None if name == TRIGGERED.mute_without else object() for name in TRIGGERED.facts}
    assert not list(triggers.judge(words_of(triggered.module), **facts))
