"""Judges vllm-weight-shape-differs (VLL038), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE = TOML["log"]
CUT_TWICE = TOML["cut_twice"]
UPDATED = TOML["updated"]


#: functions through which a trainer's weights reach a running engine
UPDATING = r":\w{0,30}(?:update_weight|update_param|load_weights_from_|receive_weight|reload_weight)\w{0,40}$"
#: what a loader asserts of a tensor that came
_COMPARED = later(r"^assert [^\n]{0,80}\b(?:loaded_weight|param\w{0,12})\.(?:shape|size)\b")


def explain(hits: Hits) -> Finding | None:
    """With both shapes where told, or with the share that was to be cut out."""
    if hits.get("start"):
        return found(
            PROBLEM,
            CUT_TWICE,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            start=hits.get("start"),
            length=hits.get("length"),
            size=hits.get("size"),
        )
    sent, own = hits.get("sent"), hits.get("own")
    told = sent is not None and own is not None
    updating = any(re.search(UPDATING, frame) for hit in hits for frame in hit.frames)
    bare = hits.first.signature == len(SIGNATURES) - 1
    if bare and not _COMPARED.match(hits.first.code):
        return None
    return found(
        PROBLEM,
        UPDATED if updating and sent != "0" else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        told=told,
        sent=sent,
        own=own,
    )
