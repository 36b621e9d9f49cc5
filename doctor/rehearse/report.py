"""The report of a rehearsal: a diagnosis like any other, with a section of its own."""

from __future__ import annotations

import re
from statistics import fmean
from typing import Any

from doctor.base.redact import inert, redact
from doctor.diagnosis.report import Diagnosis, as_dict
from doctor.rehearse.judge import inventory_of
from doctor.rehearse.memory import memory_of
from doctor.rehearse.record import phases
from doctor.rehearse.session import Session
from doctor.rehearse.told import contacted, extrapolated, not_rehearsed
from doctor.rehearse.updates import weight_update
from doctor.run.folder import RunDir

#: a warning as Python and loggers print it, by its own mark; how many are told, and how much of each
_WARNING = re.compile(r"\b\w{0,60}Warning: \S|\bWARNING\b")
_MOST_WARNINGS, _OF_WARNING, _READ_BYTES = 6, 160, 1 << 20


def report(session: Session, diagnosis: Diagnosis, language: str = "en") -> dict[str, Any]:
    """The redacted report as `doctor/1` has it."""
    return {**as_dict(diagnosis), "rehearsal": inert(redact(section(session, language)))}


def section(session: Session, language: str) -> dict[str, Any]:
    """What was come to, how long it took, and what was not rehearsed."""
    done = session.rehearsed
    return {
        "phases": [
            {"name": each.name, "mark": each.mark, "seconds": round(each.seconds, 3), "error": each.error}
            for each in phases(done)
        ],
        "not_rehearsed": [{"what": name, "why": why} for name, why in not_rehearsed(session, language)],
        "contacted": [{"address": address, "by": by} for address, by in contacted(done)],
        "extrapolated": extrapolated(session, language),
        "passes": [
            {"exit": each.code, "seconds": round(each.seconds, 2), "late": each.late} for each in session.ended
        ],
        "rewards": _rewards(session),
        "inventory": _inventory(session),
        "memory": memory_of(session.rehearsed), "weight_update": weight_update(session, language),
        "steps": session.wishes.steps, "scale": session.wishes.scale, "null": session.wishes.null,
        "held": session.apart.held,
    }  # fmt: skip


def _rewards(session: Session) -> dict[str, dict[str, float | None]]:
    """Function -> kind of answer -> what it earned on average."""
    found = {}
    for each in session.rehearsed.of("reward"):
        found[each["function"]] = {kind: _mean(tried["values"]) for kind, tried in each["tries"].items()}
    return found


def _inventory(session: Session) -> dict[str, str]:
    """The inventory of the first step in a few lines; all of it lies in the run folder."""
    data = inventory_of(session.run)
    if not data:
        return {}
    batch, found = data.get("batch") or {}, {}
    for kind in ("trainable", "frozen"):
        counts = ", ".join(f"{count:,} {dtype}" for dtype, count in (data.get(kind) or {}).items())
        found[kind] = counts or "0"
    if "with_gradient" in data:
        found["tensors with a gradient"] = f"{data['with_gradient']} / {data['tensors']}"
    if data.get("zero_gradient"):
        found["gradients that are zero"] = ", ".join(data["zero_gradient"])[:300]
    if batch.get("tokens"):
        found["tokens that count"] = f"{batch['trained']} / {batch['tokens']}"
    if batch.get("cut") is not None:
        found["rows at the length limit"] = f"{batch['cut']} / {batch.get('rows', '?')}"
    if batch.get("ends") is not None:
        found["rows that end with EOS"] = f"{batch['ends']} / {batch['rows']}"
    found["attention"] = str(data.get("attention"))
    found["adapters"] = ", ".join(data.get("active_adapters") or []) or "none"
    found["reference model"] = str(data.get("reference") or "none")
    found["optimizer"] = f"{data.get('optimizer')}, rates {sorted(set(data.get('rates') or []))}"
    if warned := warnings_of(session.run):
        found["what was warned"] = " | ".join(warned)
    for name, text in (batch.get("seen") or {}).items():
        found[f"{name} as the model sees it"] = f"{text[:300]!r}"
    return found


def warnings_of(run: RunDir) -> list[str]:
    """What libraries warned of in a pass, each once; what a logger prints without a mark is not known as such."""
    try:
        with run.console.open("rb") as file:
            text = file.read(_READ_BYTES).decode(errors="replace")
    except OSError:
        return []
    marked = ((line, _WARNING.search(line)) for line in text.splitlines())
    found = (line[match.start() :].strip()[:_OF_WARNING] for line, match in marked if match is not None)
    return list(dict.fromkeys(found))[:_MOST_WARNINGS]


def _mean(values: list[float | None] | None) -> float | None:
    known = [each for each in values or () if each is not None]
    return round(fmean(known), 4) if known else None
