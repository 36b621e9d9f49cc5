"""Judges log-breaks-off (UNK003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.unrecognised import Unknown
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
AT_STEP = TOML["at_step"]
ALIVE = TOML["alive"]
MESSAGE = TOML["main"]
REPORT = TOML["report"]
EMPTY = TOML["empty"]
BINARY = TOML["binary"]
ZEROS = TOML["zeros"]
ZEROS_END = TOML["zeros_end"]
WANDB = TOML["wandb"]
FOREIGN = TOML["foreign"]
NOTES = TOML["notes"]
WRAPPED = TOML["wrapped"]


_OTHERS = {
    "empty": EMPTY, "binary": BINARY, "wandb": WANDB, "foreign": FOREIGN, "report": REPORT, "notes": NOTES,
    "wrapped": WRAPPED, "zeros": ZEROS,
}  # fmt: skip


def answer(unknown: Unknown) -> Finding | None:
    """Say that the log stops, and where."""
    if unknown.kind != "abrupt" or unknown.unrecorded is not None:
        return None
    if other := _OTHERS.get(unknown.nature):
        last_says_nothing = unknown.nature in ("binary", "notes", "zeros")
        evidence = () if last_says_nothing else unknown.evidence
        file = unknown.where.file or "REPORT"
        where = Where(file=unknown.where.file) if last_says_nothing else unknown.where
        return found(PROBLEM, other, where=where, evidence=evidence, confidence=LIKELY, file=file)
    if any(each.text[:1] == "\0" and not each.text.strip("\0 \t\r") for each in unknown.evidence):
        return found(PROBLEM, ZEROS_END, where=unknown.where, confidence=LIKELY)
    judged = ", ".join(f"`{each}`" for each in unknown.judged)
    if unknown.steps is None and judged:
        return found(PROBLEM, ALIVE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, judged=judged)
    if unknown.steps is None:
        return found(PROBLEM, MESSAGE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY)
    done, total = unknown.steps
    return found(
        PROBLEM, AT_STEP, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, done=done, all=total,
        judged=judged,
    )  # fmt: skip
