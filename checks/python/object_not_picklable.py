"""Judges object-not-picklable (PYT026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SENT = TOML["sent"]
SAVED = TOML["saved"]
COPIED = TOML["copied"]


_SAVING = later(r"[\\/]torch[\\/]serialization\.py:(?:save|_save|_legacy_save)$")
_FEEDING = later(r"multiprocessing[\\/]queues\.py:_feed$")
_COPYING = later(r"(?:^|[\\/])copy\.py:\w{1,40}$")
_HANDED = later(r"[\\/](?:multiprocess(?:ing)?|concurrent|joblib|ray|torch[\\/]utils[\\/]data)[\\/]|cloudpickle")


def explain(hits: Hits) -> Finding:
    """What a queue's own thread could not send is mostly an exception: not the cause."""
    frames = hits.first.frames
    sent = any(_FEEDING.search(frame) for frame in frames)
    handed = any(_HANDED.search(frame) for frame in frames)
    if any(_SAVING.search(frame) for frame in frames):
        message, sure = SAVED, True
    elif any(_COPYING.search(frame) for frame in frames[-4:]):
        message, sure = COPIED, True
    else:
        message, sure = (SENT, False) if sent else (LOG_MESSAGE, handed)
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED if sure else LIKELY,
        what=hits.get("what"),
    )  # fmt: skip
