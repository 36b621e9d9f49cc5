"""Every signature against its own samples: hits, misses, captures, words; and all of them against healthy logs.

The samples are data: ``<ID>/hit-*.log``, ``<ID>/miss-*.log``, ``<ID>/sources.toml``; CONTRIBUTING.md tells their form.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib

from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry, load
from doctor.catalogue.pages.scaffold import UNFILLED
from doctor.catalogue.problem_files import declared as problem_of
from doctor.catalogue.signature import Hit
from doctor.logs import postmortem
from doctor.logs.gathered import Gathered, gather, read_hits
from doctor.logs.match.matcher import Compiled
from doctor.logs.match.recognised import called
from doctor.logs.metrics.gain import UNLEARNT
from doctor.logs.postmortem import Postmortem, examine
from tests.each import for_each
from tests.prepared import prepared_once

ROOT = Path(__file__).parent
PROJECT = ROOT.parent.parent
ENTRIES = [entry for entry in load() if entry.has_signatures]
PREPARED = prepared_once()
CATALOGUE = PREPARED.catalogue
EACH = for_each("entry", ((entry.id, entry) for entry in ENTRIES))
QUOTE, QUOTE_BLANKS = 40, 3  # characters of a log line in a row that no words may repeat; a long name is no quotation


def _problem(path: Path) -> str:
    """Whose sample it is: the id, with the row of a table behind it."""
    return path.parent.relative_to(ROOT).as_posix()


def _samples(kind: str) -> list[tuple[str, Path]]:
    return [(f"{_problem(path)}-{path.stem}", path) for path in sorted(ROOT.rglob(f"{kind}-*.log"))]


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


def _examined(path: Path, folder: Path) -> Postmortem:
    """The post-mortem of a sample, which is read once: what the patterns hit on the way is kept for `_hits`."""
    hits = _HITS[path] = []

    def gathered(*arguments: Any, **more: Any) -> Gathered:
        found = gather(*arguments, **more)
        hits.extend((CATALOGUE.signatures[index], hit) for index, hit in found.hits)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(postmortem, "gather", gathered)
        return examine([str(path)], context=_context(path, folder), prepared=PREPARED)


_HITS: dict[Path, list[tuple[Compiled, Hit]]] = {}


def _hits(path: Path) -> list[tuple[Compiled, Hit]]:
    """What the patterns alone hit in a file, whatever comes of it."""
    if path not in _HITS:
        _HITS[path] = [(CATALOGUE.signatures[index], hit) for index, hit in read_hits([str(path)], PREPARED.scanner)]
    return _HITS[path]


def _finding(result: Postmortem, problem: str) -> Finding | None:
    found = result.diagnosis.outcome.findings
    return next((each for each in found if problem in (each.problem.id, each.problem.family)), None)


@EACH
def test_has_a_hit_a_miss_and_sources(entry: Entry) -> None:
    folder = ROOT / entry.id
    names = {path.stem for path in folder.glob("*.log")}
    assert any(name.startswith("hit-") for name in names), f"tests/signatures/{entry.id}/hit-*.log is missing"
    of_table = {path.stem for path in (ROOT / entry.family).glob("miss-*.log")}  # near misses of all of its rows
    assert any(name.startswith("miss-") for name in names | of_table), f"{folder}/miss-*.log is missing"
    unfilled = [each.name for each in folder.glob("*.*") if UNFILLED in each.read_text(errors="replace")]
    assert not unfilled, f"{entry.id}: still to be written: {unfilled}"
    assert set(_sources(folder)) == names
    for name, told in _sources(folder).items():
        assert told.get("source"), f"{entry.id} {name}: no source"
        assert name.startswith("hit-") or told.get("why"), f"{entry.id} {name}: why is it none?"


def test_samples_belong_to_problems_with_signatures() -> None:
    folders = {_problem(each) for each in ROOT.rglob("*.log")}
    assert folders <= {name for entry in ENTRIES for name in (entry.id, entry.family)}


def _every_pattern_and_keyword_is_exercised(entry: Entry) -> None:
    hits = [pair for path in (ROOT / entry.id).glob("hit-*.log") for pair in _hits(path)]
    for declared in CATALOGUE.of(entry.id):
        texts = [hit.text for each, hit in hits if each == declared]
        assert texts, f"{entry.id}: no sample for SIGNATURES[{declared.index}] {declared.signature.pattern}"
        for keyword in declared.signature.keywords:
            assert any(keyword in text for text in texts), f"{entry.id}: no sample for keyword {keyword!r}"


@for_each("sample", [*_samples("hit"), *((f"{entry.id}-patterns", entry) for entry in ENTRIES)])
def test_hit(sample: Path | Entry, tmp_path: Path) -> None:
    """Each sample of an area, and with what was hit in these, all patterns of each of its problems."""
    if isinstance(sample, Path):
        _is_found(sample, tmp_path)
    else:
        _every_pattern_and_keyword_is_exercised(sample)


def _is_found(path: Path, folder: Path) -> None:
    problem, told = _problem(path), _told(path)
    result = _examined(path, folder)
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
    overlaps = {each.split()[0] for each in found} - {problem}
    unexplained = sorted(other for other in overlaps if not _explained(problem, other, told))
    assert not unexplained, f"found as well, and neither problem says why: {unexplained}"


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


@for_each("path", _samples("miss"))
def test_miss(path: Path, tmp_path: Path) -> None:
    result = _examined(path, tmp_path)
    assert not result.ranked.crashed
    assert _finding(result, _problem(path)) is None, _told(path)["why"]


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
    findings = result.diagnosis.outcome.findings
    assert [each.problem.id for each in findings] == []
    # a training that prints no metric that a rule knows, few values, or no sign of learning is not vouched for
    unjudged = {"metrics", "course", *UNLEARNT} & {*result.diagnosis.not_seen}
    assert result.diagnosis.verdict == ("unknown" if unjudged else "healthy")


#: (problem, what it declares as its cause or as what it adds to)
EDGES = {(declared.problem_id, other) for declared in CATALOGUE.signatures
         for other in (*declared.signature.symptom_of, *declared.signature.contributes_to)}  # fmt: skip


def _explained(problem: str, other: str, told: dict[str, Any]) -> bool:
    """Whether one of two problems that are found in the same sample says why."""
    pairs = ((problem, other), (other, problem))
    return other in told.get("also", {}) or any(
        (one, each) in EDGES
        for one, two in pairs
        for each in (*called(problem_of(CATALOGUE.entries[two]).problem), "*")
    )
