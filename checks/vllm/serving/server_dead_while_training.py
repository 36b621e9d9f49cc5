"""Judges server-dead-while-training (VLL071), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
GONE = TOML["gone"]
SICK = TOML["sick"]
SILENT = TOML["silent"]


def not_answering(url: str, status: int | None, seconds: float, *, refused: bool) -> Finding:
    """What the server's silence means.

    Args:
        url: of the server.
        status: HTTP status that it answered with; None where it did not answer.
        seconds: for how long it was asked.
        refused: nobody listens there any more.

    """
    message = GONE if refused else SILENT if status is None else SICK
    answer = "connection refused" if refused else "no answer" if status is None else f"HTTP {status}"
    return found(
        PROBLEM, message, confidence=LIKELY if message is SILENT else CONFIRMED,
        evidence=(Observed.quoted(f"{url}/health", answer),), url=url, status=status, seconds=f"{seconds:.0f}",
    )  # fmt: skip
