"""Words code-meets-another-thing (PYT4665), whose texts stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found, joined
from doctor.catalogue.unrecognised import Mismatch
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGES = TOML.messages


def of_mismatch(mismatch: Mismatch) -> Finding | None:
    """What the parts of an exception say."""
    return found(
        PROBLEM, MESSAGES[mismatch.case], where=mismatch.where, evidence=mismatch.evidence, confidence=LIKELY,
        name=mismatch.name, of=mismatch.of or _function(mismatch.place), of_one=mismatch.of.partition(",")[0],
        subject=mismatch.subject, place=f"`{mismatch.place}`" if mismatch.place else "", asker=mismatch.asker,
        version=f" {mismatch.version}" if mismatch.version else "", installed=", ".join(mismatch.installed),
        mine=f"`{mismatch.mine}`" if mismatch.mine else "", given=mismatch.given, taken=mismatch.taken,
        meant=mismatch.meant, callers=joined([f"`{each}`" for each in mismatch.callers], " and ", "、"),
        settings=", ".join(f"`{each}`" for each in mismatch.settings),
    )  # fmt: skip


def _function(place: str) -> str:
    """The function of a frame in its short form, "trainer.py:1576 (train)"."""
    return place.rpartition("(")[2].rstrip(")")
