"""The diagnosis as data: the JSON contract that other programs rely on, redacted. Every renderer reads this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import doctor
from doctor.base.record import record
from doctor.base.redact import (
    hide,
    inert,
    redact,
    redact_argv,
    redact_text,
    remembered,
    secrets_in,
    secrets_of_environment,
    without,
)
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome

SCHEMA = "doctor/1"


@record
class Subject:
    """What was diagnosed."""

    python: str | None = None
    argv: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    run_dir: str | None = None
    summary: tuple[str, ...] = ()  # one clause each: "python 3.11.7 (venv)", "torch 2.6.0+cu124"
    stands_for: tuple[tuple[str, str], ...] = ()  # (folder of our own, the archive that was unpacked there)
    stopped: Mapping[str, Any] | None = None  # what the guard tells of its stop (doctor.run.guard_stop.Stop)


@record
class Diagnosis:
    """Everything a renderer needs."""

    command: str
    target: Subject
    outcome: Outcome
    entries: Mapping[str, Entry] = field(default_factory=dict)
    language: str = "en"
    seconds: float = 0.0
    fixes: frozenset[str] = frozenset()
    verdict: str | None = None  # known, unknown, healthy; of a post-mortem
    chain: tuple[Mapping[str, Any], ...] = ()  # what happened, process by process, in order of time
    series: tuple[Mapping[str, Any], ...] = ()  # metrics worth drawing, those that findings judge first
    nodes: Mapping[str, Any] = field(
        default_factory=dict
    )  # several machines side by side (doctor.diagnosis.nodes.matrix)
    machines: int = 0  # of a monitored run
    not_seen: tuple[str, ...] = ()  # what the metrics of a post-mortem cannot tell of
    unjudged: tuple[str, ...] = ()  # metrics that no rule judges
    wasted: tuple[Mapping[str, Any], ...] = ()  # what a post-mortem saw spent for nothing


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """The report of DESIGN's contract `doctor/1`, with every secret and every terminal code taken out."""
    known = _known(diagnosis)
    report = {name: inert(_cleaned(value, known)) for name, value in _told(diagnosis).items()}
    for folder, archive in diagnosis.target.stands_for:
        report = _renamed(report, redact_text(folder), redact_text(archive))
    if diagnosis.nodes:
        report["nodes"] = inert(redact(diagnosis.nodes))
    if diagnosis.not_seen or diagnosis.unjudged:
        report["judged"] = {
            "not_seen": list(diagnosis.not_seen), "unjudged": [inert(redact_text(each)) for each in diagnosis.unjudged],
        }  # fmt: skip
    if diagnosis.wasted:
        report["wasted"] = [dict(each) for each in diagnosis.wasted]
    return {**report, **({"series": [_series(each) for each in diagnosis.series]} if diagnosis.series else {})}


def _known(diagnosis: Diagnosis) -> list[str]:
    """Secrets that the command, the quotations and this process's variables show as such.

    A headline may hold a word of one without what stood around it there.
    """
    found = secrets_in(" ".join(diagnosis.target.argv))
    return [*dict.fromkeys((*found, *remembered())), *secrets_of_environment()]


def _cleaned(value: Any, secrets: Sequence[str]) -> Any:
    """The same without secrets that are known, in every text of it; mere parts of them stay."""
    if not secrets:
        return value
    if isinstance(value, str):
        return without(value, secrets, parts=False)
    if isinstance(value, dict):
        return {key: _cleaned(each, secrets) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(each, secrets) for each in value]
    return value


def _told(diagnosis: Diagnosis) -> dict[str, Any]:
    """All but the series, whose many numbers need no looking through."""
    outcome = diagnosis.outcome
    target = diagnosis.target
    return {
        "schema": SCHEMA,
        "doctor_version": doctor.__version__,
        "command": diagnosis.command,
        "target": {
            "python": redact(target.python),
            "argv": [redact_text(word) for word in redact_argv(target.argv)],
            "files": redact(target.files),
            "run_dir": redact(target.run_dir),
            "summary": redact(target.summary),
            **({"stopped": redact(dict(target.stopped))} if target.stopped else {}),
        },
        **({"verdict": diagnosis.verdict, "chain": redact(list(diagnosis.chain))} if diagnosis.verdict else {}),
        "findings": [_finding(each, diagnosis) for each in outcome.findings],
        "skipped": [
            {"id": each.id, "reason": redact_text(each.reason), **({"ignored": True} if each.ignored else {})}
            for each in outcome.skipped
        ],
        "crashed": [
            {"id": each.id, "error": redact_text(each.error), "traceback": redact_text(each.traceback)}
            for each in outcome.crashed
        ],
        "summary": {
            "errors": outcome.errors,
            "warnings": outcome.warnings,
            "checks_run": outcome.checks_run,
            "seconds": round(diagnosis.seconds, 3),
            **(
                {"areas": {name: {"checked": c, "not_judged": n} for name, (c, n) in outcome.areas.items()}}
                if outcome.areas
                else {}
            ),
        },
    }


def _renamed(value: Any, folder: str, name: str) -> Any:
    """The same with a name in place of a folder, in every text of it."""
    if isinstance(value, str):
        return value.replace(folder, name)
    if isinstance(value, dict):
        return {key: _renamed(each, folder, name) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_renamed(each, folder, name) for each in value]
    return value


def _series(series: Mapping[str, Any]) -> dict[str, Any]:
    """A metric; its name and its source are the patient's words."""
    words = {"name": redact_text(series["name"]), "source": redact_text(series["source"])}
    return {**series, **{key: inert(value) for key, value in words.items()}}


def shortened(report: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The report with paths below `folder` written relative to it, for people; programs get the full ones."""
    prefix = f"{redact_text(str(folder))}/"

    def short(text: str) -> str:
        return text.removeprefix(prefix)

    findings = [
        {
            **each,
            "where": {key: short(value) if key == "file" else value for key, value in each["where"].items()},
            "evidence": [{**one, "source": short(one["source"])} for one in each["evidence"]],
        }
        for each in report["findings"]
    ]
    chain = {"chain": [{**each, "file": short(each["file"])} for each in report["chain"]]} if "chain" in report else {}
    return {**report, **chain, "findings": findings}


def _finding(finding: Finding, diagnosis: Diagnosis) -> dict[str, Any]:
    words = finding.words(diagnosis.language)
    problem = finding.problem
    return {
        "id": problem.id,
        "name": problem.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "role": finding.role.value,
        "headline": redact_text(words.headline),
        "explanation": redact_text(words.explanation),
        "remedy": {
            "text": redact_text(words.remedy),
            "commands": [redact_text(command) for command in finding.commands],
            "fix": problem.id if problem.id in diagnosis.fixes else None,
            **({"changes": changes} if (changes := _changes(finding)) else {}),
        },
        "where": {key: redact(value) for key, value in finding.where.as_dict().items()},
        "evidence": [
            {"source": redact_text(each.source), "line": each.line, "text": redact_text(each.text)}
            for each in finding.evidence
        ],
        "links": list(finding.links),
        "affects": dict(problem.affects),
        **({"detectors": list(finding.detectors)} if finding.detectors else {}),
        **({"nodes": _nodes(finding, diagnosis)} if finding.nodes else {}),
    }


def _changes(finding: Finding) -> list[dict[str, Any]]:
    """What the commands order, as data: the command's position, the input, what it is and what it becomes."""
    return [
        {
            "command": at,
            "kind": each.input.kind,
            "name": redact_text(each.input.name),
            "old": _value(each.old, each.input.name),
            "new": _value(each.new, each.input.name),
        }
        for at, changes in enumerate(finding.changes)
        for each in changes
    ]


def _value(value: Any, name: str) -> Any:
    """A value as JSON has it; what is secret, or what the user chooses, is shown as such."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_value(each, name) for each in value]
    return redact_text(hide(name, str(value)))


def _nodes(finding: Finding, diagnosis: Diagnosis) -> dict[str, Any]:
    """Which of the nodes have a problem: how many, of how many that were heard, and their names, ranges folded."""
    from doctor.catalogue.nodes.hosts import folded

    return {
        "count": len(finding.nodes),
        "of": diagnosis.nodes.get("asked", diagnosis.machines),
        "names": folded(finding.nodes),
    }
