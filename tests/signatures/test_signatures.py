"""Every signature against its own samples: hits, misses, captures, words; and all of them against healthy logs.

The samples are data: ``<ID>/hit-*.log``, ``<ID>/miss-*.log``, ``<ID>/sources.toml``; CONTRIBUTING.md tells their form.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib

from doctor.core.finding import Finding
from doctor.core.index import Entry, load
from doctor.core.signature import Hit
from doctor.logs import catalogue as catalogue_module
from doctor.logs.catalogue import STANDARD_VALUES
from doctor.logs.matcher import Compiled
from doctor.logs.postmortem import Postmortem, examine, prepare, read_hits

ROOT = Path(__file__).parent
PROJECT = ROOT.parent.parent
ENTRIES = [entry for entry in load() if entry.has_signatures]
PREPARED = prepare()
CATALOGUE = PREPARED.catalogue
EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
QUOTE, QUOTE_BLANKS = 40, 3  # characters of a log line in a row that no words may repeat; a long name is no quotation


def _samples(kind: str) -> list[Any]:
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(ROOT.glob(f"*/{kind}-*.log"))]


@cache
def _sources(folder: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads((folder / "sources.toml").read_text(encoding="utf-8"))


def _told(path: Path) -> dict[str, Any]:
    told = _sources(path.parent)
    assert path.stem in told, f"{path.parent.name}/sources.toml does not tell where {path.name} comes from"
    return told[path.stem]


def _context(path: Path, folder: Path) -> list[Path]:
    context = [each for each in [path.with_suffix(".context.txt")] if each.is_file()]
    if versions := _told(path).get("versions"):
        listing = folder / "versions.txt"
        listing.write_text("Package Version\n------- -------\n" + "".join(f"{n} {v}\n" for n, v in versions.items()))
        context.append(listing)
    return context


_RESULTS: dict[Path, Postmortem] = {}


def _examined(path: Path, folder: Path) -> Postmortem:
    if path not in _RESULTS:
        _RESULTS[path] = examine([str(path)], context=_context(path, folder), prepared=PREPARED)
    return _RESULTS[path]


@cache
def _hits(path: Path) -> list[tuple[Compiled, Hit]]:
    """What the patterns alone hit in a file, whatever comes of it."""
    return [(CATALOGUE.signatures[index], hit) for index, hit in read_hits([str(path)], PREPARED)]


def _finding(result: Postmortem, problem: str) -> Finding | None:
    return next((each for each in result.diagnosis.outcome.findings if each.problem.id == problem), None)


@EACH
def test_has_a_hit_a_miss_and_sources(entry: Entry) -> None:
    folder = ROOT / entry.id
    names = {path.stem for path in folder.glob("*.log")}
    assert any(name.startswith("hit-") for name in names), f"tests/signatures/{entry.id}/hit-*.log is missing"
    assert any(name.startswith("miss-") for name in names), f"tests/signatures/{entry.id}/miss-*.log is missing"
    assert set(_sources(folder)) == names
    for name, told in _sources(folder).items():
        assert told.get("source"), f"{entry.id} {name}: no source"
        assert name.startswith("hit-") or told.get("why"), f"{entry.id} {name}: why is it none?"


def test_samples_belong_to_problems_with_signatures() -> None:
    folders = {each.name for each in ROOT.iterdir() if re.fullmatch(r"[A-Z]{3}\d{3}", each.name)}
    assert folders <= {entry.id for entry in ENTRIES}


@EACH
def test_every_pattern_and_keyword_is_exercised(entry: Entry) -> None:
    hits = [pair for path in (ROOT / entry.id).glob("hit-*.log") for pair in _hits(path)]
    for declared in CATALOGUE.of(entry.id):
        texts = [hit.text for each, hit in hits if each == declared]
        assert texts, f"{entry.id}: no sample for SIGNATURES[{declared.index}] {declared.signature.pattern}"
        for keyword in declared.signature.keywords:
            assert any(keyword in text for text in texts), f"{entry.id}: no sample for keyword {keyword!r}"


@pytest.mark.parametrize("path", _samples("hit"))
def test_hit(path: Path, tmp_path: Path) -> None:
    problem, told = path.parent.name, _told(path)
    result = _examined(path, tmp_path)
    assert not result.ranked.crashed, result.ranked.crashed[0].traceback
    found = [f"{each.problem.id} {each.role.value}" for each in result.diagnosis.outcome.findings]
    finding = _finding(result, problem)
    assert finding is not None, f"found {found} instead"
    if told.get("first", True):
        assert found[0].startswith(problem), f"found {found}"
        assert result.diagnosis.verdict == "known" or problem.startswith("UNK")
    if "confidence" in told:
        assert finding.confidence.value == told["confidence"]
    for part in ("headline", "explanation", "remedy"):
        if pattern := told.get(part):
            text = getattr(finding.words("en"), part) + "\n".join(("", *finding.commands))
            assert re.search(pattern, text, re.IGNORECASE), f"{part} says: {text}"
    _captures(problem, path, told)
    _words(finding, result)


def _captures(problem: str, path: Path, told: dict[str, Any]) -> None:
    """Named groups are what the sample's entry tells; a sample of a pattern with groups must tell some."""
    groups: dict[str, str] = {}
    for declared, hit in _hits(path):
        if declared.problem_id == problem:
            for name, value in hit.groups.items():
                groups.setdefault(name, value)
    assert "groups" in told, f"what is captured? {groups}"
    assert {name: groups.get(name) for name in told["groups"]} == told["groups"], f"captured {groups}"
    assert told["groups"] or not groups, f"sources.toml does not tell what is captured: {groups}"


def _words(finding: Finding, result: Postmortem) -> None:
    """Both languages are filled, and no line of the log is repeated."""
    log = "\n".join(text for kept in result.case.kept for _, text in kept)
    for language in ("en", "zh"):
        for part, text in vars(finding.words(language)).items():
            assert text.strip(), f"{language} {part} is empty"
            assert not re.search(r"(?<!\{)\{[a-z_]+\}(?!\})", text), f"{language} {part} has an unfilled brace: {text}"
            windows = (text[start : start + QUOTE] for start in range(len(text) - QUOTE + 1))
            quotes = (each for each in windows if each.count(" ") >= QUOTE_BLANKS)
            assert not any(each in log for each in quotes), f"{language} {part} repeats the log: {text}"


@pytest.mark.parametrize("path", _samples("miss"))
def test_miss(path: Path, tmp_path: Path) -> None:
    result = _examined(path, tmp_path)
    assert not result.ranked.crashed
    assert _finding(result, path.parent.name) is None, _told(path)["why"]


@EACH
def test_message_braces_can_be_filled(entry: Entry) -> None:
    import string

    module = importlib.import_module(entry.module)
    if hasattr(module, "explain"):
        return
    message = getattr(module, "LOG_MESSAGE", None) or module.MESSAGE
    texts = [
        *vars(message.en).values(),
        *(vars(message.zh).values() if message.zh else ()),
        *getattr(module, "LOG_COMMANDS", ()),
    ]
    wanted = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
    for declared in CATALOGUE.of(entry.id):
        if declared.signature.kind != "sign":
            missing = wanted - set(catalogue_module.named_groups(declared.signature)) - set(STANDARD_VALUES)
            assert not missing, f"{entry.id}: SIGNATURES[{declared.index}] does not capture {missing}"


@EACH
def test_pattern_is_well_formed(entry: Entry) -> None:
    for declared in CATALOGUE.of(entry.id):
        signature = declared.signature
        assert signature.kind in ("error", "warning", "sign")
        assert not re.search(r"(?<!\\)\.[*+]\??\)?\$?$", signature.pattern), (
            f"{entry.id}: open end: {signature.pattern}"
        )
        assert not re.search(r"\[\^(?:(?!\\n|\\s)[^\]])*\][*+{]", signature.pattern), (
            f"{entry.id}: a class that can eat a line end: {signature.pattern}"
        )
        for other in (*signature.symptom_of, *signature.contributes_to):
            assert other == "*" or other in CATALOGUE.entries or len(other) == 3, f"{entry.id}: {other} is no problem"


def _healthy() -> list[Any]:
    folders = [PROJECT / "tests" / "healthy", *sorted(PROJECT.parent.glob("*/healthy"))]
    return [
        pytest.param(path, id=f"{folder.parent.name}-{path.stem}")
        for folder in folders
        for path in sorted(folder.glob("*.log"))
    ]


@pytest.mark.parametrize("path", _healthy())
def test_healthy_logs_stay_silent(path: Path) -> None:
    result = examine([str(path)], prepared=PREPARED)
    assert [each.problem.id for each in result.diagnosis.outcome.findings] == []
    assert result.diagnosis.verdict == "healthy"


def test_overlaps_are_explained(tmp_path: Path) -> None:
    """A log of one problem in which another is found, too: one of the two must say why."""
    edges = {(each.problem_id, other) for each in CATALOGUE.signatures
             for other in (*each.signature.symptom_of, *each.signature.contributes_to)}  # fmt: skip
    matrix: dict[tuple[str, str], list[str]] = {}
    for param in _samples("hit"):
        path = param.values[0]
        problem = path.parent.name
        findings = _examined(path, tmp_path).diagnosis.outcome.findings
        for other in sorted({each.problem.id for each in findings} - {problem}):
            if not _explained(problem, other, edges, _told(path)):
                matrix.setdefault((problem, other), []).append(path.stem)
    for (problem, other), names in sorted(matrix.items()):
        print(f"{problem} {other} {' '.join(names)}")  # noqa: T201 - the matrix is the point
    assert not matrix, f"overlaps without a reason: {matrix}"


def _explained(problem: str, other: str, edges: set[tuple[str, str]], told: dict[str, Any]) -> bool:
    pairs = ((problem, other), (other, problem))
    return other in told.get("also", {}) or any(
        (one, each) in edges for one, two in pairs for each in (two, two[:3], "*")
    )
