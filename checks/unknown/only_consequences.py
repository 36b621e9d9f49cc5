"""Judges only-consequences (UNK002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.ranks import ranks_text
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.unrecognised import INTERRUPT, Unknown
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
ENDED = TOML["ended"]
AT_EXIT = TOML["at_exit"]
LOST = TOML["lost"]
GONE = TOML["gone"]
INTERRUPTED = TOML["interrupted"]
TERMINATED = TOML["terminated"]


#: signals of which a phrase says who sends them, and another where to look
#: https://man7.org/linux/man-pages/man7/signal.7.html
_SIGNALS = frozenset(TOML.phrases("meaning"))


def answer(unknown: Unknown) -> Finding | None:
    """Say who is missing, and how it ended where that is told."""
    if unknown.kind != "consequences" or unknown.unrecorded is not None:
        return None
    waiting, absent = ranks_text(unknown.waiting), ranks_text(unknown.absent)
    phrase = TOML.phrase("waiting.both" if absent else "waiting.alone", waiting=waiting, absent=absent)
    told = phrase if waiting else ""
    if unknown.exit_code is None and not unknown.signal:
        if unknown.type == INTERRUPT:
            return _interrupted(unknown)
        return found(
            PROBLEM,
            LOST if unknown.type else GONE,
            where=unknown.where,
            evidence=unknown.evidence,
            confidence=LIKELY,
            type=unknown.type,
            waiting=told,
        )
    signal = unknown.signal if unknown.signal in _SIGNALS else "itself"
    return found(
        PROBLEM, AT_EXIT if unknown.after_end else ENDED, where=unknown.where, evidence=unknown.evidence,
        confidence=LIKELY,
        who=unknown.process or TOML.phrase("process"),
        how=f"`{unknown.signal}`" if unknown.signal else f"`exit {unknown.exit_code}`",
        meaning=TOML.phrase(f"meaning.{signal}"), first=TOML.phrase(f"first.{signal}"), waiting=told,
        others=bool(unknown.type or waiting),
    )  # fmt: skip


def _interrupted(unknown: Unknown) -> Finding:
    """All that was printed is that somebody stopped it."""
    return found(
        PROBLEM, TERMINATED if unknown.message == "terminated" else INTERRUPTED, where=unknown.where,
        evidence=unknown.evidence, confidence=LIKELY, place=unknown.raised_in or "",
    )  # fmt: skip
