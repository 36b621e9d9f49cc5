"""Configuration keys of frameworks, and defects with their conditions, as data."""

from __future__ import annotations

import dataclasses
import re

import pytest
from packaging.specifiers import SpecifierSet

from doctor import data
from doctor.catalogue.shared.said import RELATIONS
from doctor.cli.dev_lint import faults_of_defects
from doctor.facts.framework_config import DISTRIBUTIONS


@pytest.mark.parametrize("framework", sorted(DISTRIBUTIONS))
def test_every_framework_has_keys_with_a_source(framework):
    known = data.framework_keys(framework)
    assert len(known.keys) > 200
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/tree/[0-9a-f]{40}", known.source)
    for first, last in known.keys.values():
        assert 0 <= first <= len(known.releases)
        assert last is None or first <= last < len(known.releases) or first == last == len(known.releases)


def test_a_key_that_came_and_went():
    known = data.FrameworkKeys(("1.0", "1.1", "1.2"), {"old": (0, 1), "new": (2, None)}, "")
    assert [known.lacks("old", each) for each in known.releases] == [None, None, "gone"]
    assert [known.lacks("new", each) for each in known.releases] == ["not yet", "not yet", None]
    assert known.lacks("new", "9.9") is None
    assert known.lacks("other", "1.0") is None


def test_real_keys_of_real_releases():
    assert data.framework_keys("llamafactory").lacks("cutoff_len", "0.9.2") is None
    assert "neat_packing" in data.framework_keys("llamafactory").keys
    assert "base_model" in data.framework_keys("axolotl").keys


@pytest.mark.parametrize("defect", data.defects(), ids=lambda each: each.id)
def test_defects_are_whole(defect):
    assert defect.when
    assert all(SpecifierSet(each) is not None for each in defect.when.values())
    assert defect.conditions
    assert {relation for _, relation, _ in defect.conditions} <= RELATIONS
    assert any(relation != "unset" for _, relation, _ in defect.conditions)
    assert all(re.compile(each) for each in defect.shows)
    assert defect.severity in {"error", "warning", "info"}
    assert defect.links
    assert all(each.startswith("https://") for each in defect.links)
    for english, chinese in (defect.what, defect.why, defect.fix):
        assert english
        assert not re.search(r"[\u4e00-\u9fff]", english)
        assert re.search(r"[\u4e00-\u9fff]", chinese)
    assert "{" not in "".join((*defect.what, *defect.why, *defect.fix))


def test_every_defect_is_bounded():
    assert not list(faults_of_defects(data.defects()))
    one = data.defects()[0]
    unbounded, shut, opened = (
        dataclasses.replace(one, when={"x": ">=1"}),
        dataclasses.replace(one, when={"x": "<=1"}),
        dataclasses.replace(one, when={"x": "<2"}, open_on="2026-11-24"),
    )
    assert [fault.partition(": ")[2][:10] for fault in faults_of_defects([unbounded, shut, opened])] == [
        "no package", "`<=` is fo", "`<=` is fo",
    ]  # fmt: skip


def test_ids_of_defects_are_unique():
    names = [each.id for each in data.defects()]
    assert len(names) == len(set(names))
