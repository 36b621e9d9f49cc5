"""Judges engine-inner-check-fails (VLL094), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


#: where the engine keeps its books
ENGINE = (
    r"[\\/]vllm[\\/]v1[\\/](?:core|engine|executor|worker|sample|spec_decode|attention|structured_output"
    r"|kv_offload|outputs|request)\b"
)
#: where the V0 engine takes a running request back
OLD_SCHEDULER = r"[\\/]vllm[\\/]core[\\/]scheduler\.py:_preempt\w{0,30}$"
#: entries whose words are those of any exception -> where it must have been raised
PLACES = {3: OLD_SCHEDULER, 4: ENGINE}


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for; a bare exception is the engine's where it was raised there."""
    place = PLACES.get(hits.first.signature)
    if place and not re.search(place, (hits.first.frames or ("",))[-1]):
        return None
    return replace(TOML.finding(hits), confidence=LIKELY)
