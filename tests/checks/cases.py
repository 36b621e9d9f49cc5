"""Turns a case of `tests/checks/<ID>.yaml` into facts, runs that one check over them and compares.

A case holds
  command: a launch command (facts about it are read by the real parsers), `files`: name -> text written beside it,
  facts: fact -> fields of its dataclass; shorthands: `packages: {vllm: 0.8.5}`, a plain value where a Setting stands,
  unavailable: fact -> reason, of the fact `cluster` each node has `facts` and `unavailable` of its own,
and expects `found` (list, in order; texts are substrings), `silent: true`, or `skipped` (substring of a reason).
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from doctor.base.codec import load
from doctor.base.evidence import Observed
from doctor.base.fact import Context, Settings
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.runner import facts_needed, run_checks
from doctor.facts.cluster import Cluster, ClusterNode
from tests.collected import InTurn

#: types of a field that holds what somebody wrote down
_SETTING = re.compile(r"\b(?:Setting|Observed)\b")
EXPECTATIONS = {
    "headline", "explanation", "remedy", "severity", "confidence", "role", "where", "commands", "evidence",
}  # fmt: skip
KEYS = {"command", "files", "facts", "unavailable", "environ", "found", "silent", "skipped"}


def fact_type(name: str) -> Any:
    return getattr(importlib.import_module(f"doctor.facts.{name}"), "".join(part.title() for part in name.split("_")))


def build_fact(name: str, data: Any) -> Any:
    if name == "cluster":
        return Cluster(**{**data, "nodes": tuple(build_node(**node) for node in data["nodes"])})
    if name == "packages" and "distributions" not in data:
        extra = {key: data.pop(key) for key in list(data) if key in {each.name for each in fields(fact_type(name))}}
        data = {**extra, "distributions": {key: {"name": key, "version": str(value)} for key, value in data.items()}}
    return load(fact_type(name), spell_out(fact_type(name), data))


def build_node(facts: Mapping[str, Any], unavailable: Mapping[str, str] | None = None, **data: Any) -> ClusterNode:
    """A node whose `facts` and `unavailable` are written as those of a case."""
    return ClusterNode(**data, facts=states(facts, unavailable or {}))


def states(facts: Mapping[str, Any], unavailable: Mapping[str, str]) -> dict[str, Observed]:
    given = {name: Observed.seen(build_fact(name, data)) for name, data in facts.items()}
    return given | {name: Observed.unseen(why) for name, why in unavailable.items()}


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """Types of the fields: resolving their words is most of what building a fact costs."""
    return get_type_hints(cls)


def spell_out(cls: Any, data: Any) -> Any:
    """Replace plain values by Settings where the dataclass wants them."""
    if not is_dataclass(cls) or not isinstance(data, Mapping):
        return data
    hints, out = hints_of(cls), dict(data)
    for key, value in data.items():
        wanted = str(hints.get(key))
        if hints.get(key) == Settings or ("Mapping" in wanted and _SETTING.search(wanted)):
            out[key] = value and {name: as_setting(name, each) for name, each in value.items()}
        elif _SETTING.search(wanted) and value is not None:
            out[key] = as_setting(key, value)
        elif is_dataclass(hints.get(key)):
            out[key] = spell_out(hints[key], value)
        elif "Distribution" in wanted and isinstance(value, Mapping):
            out[key] = {name: {"name": name, **each} for name, each in value.items()}
    return out


def as_setting(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping) and set(value) <= {"name", "value", "known", "text", "place"} and "value" in value:
        return {"name": name, "text": str(value["value"]), **value}
    return {"name": name, "value": value, "text": str(value)}


def run_case(entry: Entry, case: Mapping[str, Any], folder: Path) -> Outcome:
    assert set(case) <= KEYS, f"unknown keys {set(case) - KEYS}"
    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    given = states(case.get("facts", {}), case.get("unavailable", {}))
    context = Context(tuple(shlex.split(case.get("command", ""))), folder, case.get("environ", {}))
    collector = InTurn(context, given, from_file="the case")
    collector.ask(facts_needed([entry]))
    return run_checks([entry], collector.world)


def compare(case: Mapping[str, Any], outcome: Outcome, folder: Path) -> None:
    assert not outcome.crashed, outcome.crashed[0].traceback
    wanted = case.get("found", [])
    assert ("found" in case) + ("silent" in case) + ("skipped" in case) >= 1, "a case must expect something"
    said = [finding.words().headline for finding in outcome.findings]
    assert len(said) == len(wanted), f"expected {len(wanted)} findings, got {said}; skipped {outcome.skipped}"
    for finding, want in zip(outcome.findings, wanted, strict=True):
        compare_finding(finding, want, folder)
    reasons = [each.reason for each in outcome.skipped]
    if "skipped" in case:
        assert any(case["skipped"] in reason for reason in reasons), reasons
    if case.get("silent"):
        assert not reasons, f"expected silence, was skipped: {reasons}"


def compare_finding(finding: Any, want: Mapping[str, Any], folder: Path) -> None:
    for language in ("en", "zh"):
        finding.words(language)
    words = finding.words()
    for key in ("headline", "explanation", "remedy"):
        texts = want.get(key, ())
        for text in [texts] if isinstance(texts, str) else texts:
            assert text in getattr(words, key), f"{key}: {text!r} not in {getattr(words, key)!r}"
    for key in ("severity", "confidence", "role"):
        if key in want:
            assert getattr(finding, key).value == want[key]
    where = finding.where.as_dict()
    for key, value in want.get("where", {}).items():
        actual = where.get(key)
        if key == "file" and actual is not None:
            actual = actual.removeprefix(f"{folder}/")
        assert actual == value, f"where.{key}: {actual!r}, expected {value!r}"
    for text in want.get("commands", ()):
        assert any(text in command for command in finding.commands), finding.commands
    for text in want.get("evidence", ()):
        assert any(text in each.text for each in finding.evidence), finding.evidence
    assert set(want) <= EXPECTATIONS, f"unknown expectation {set(want) - EXPECTATIONS}"
