"""Judges log-not-recorded (UNK004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.unrecognised import Unknown
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FULL = TOML["full"]
OTHER = TOML["other"]


_FULL = ("ENOSPC", "EDQUOT")


def answer(unknown: Unknown) -> Finding | None:
    """Say why the log lacks its end, where no failure stands in the part that there is."""
    missing = unknown.unrecorded
    if missing is None or unknown.kind == "exception":
        return None
    told = Observed.quoted(missing.told_by, f"console: {missing.reason}, {missing.lost_bytes} bytes not recorded")
    message = FULL if missing.reason in _FULL else OTHER
    return found(
        PROBLEM, message, where=unknown.where, evidence=(told, *unknown.evidence), confidence=LIKELY,
        commands=(f"df -h {missing.folder}",), reason=missing.reason, lines=missing.lost_lines, folder=missing.folder,
    )  # fmt: skip
