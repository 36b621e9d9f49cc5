"""Judges communication-slowed-by-setting (DSP3806), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

_ZERO = "zero_optimization."
#: key -> stages at which DeepSpeed has it on by itself
#: https://github.com/deepspeedai/DeepSpeed/blob/v0.17.1/deepspeed/runtime/zero/config.py
_ON_AT = {"contiguous_gradients": {1, 2, 3}, "overlap_comm": {3}}


@check(PROBLEM)
def communication_slowed_by_setting(deepspeed_config: DeepspeedConfig) -> Judgement:
    """Only what was written to switch off a default; the two are told together."""
    stage = deepspeed_config.zero_stage
    written = [deepspeed_config.settings.get(_ZERO + key) for key, stages in _ON_AT.items() if stage in stages]
    off = [each for each in written if each is not None and each.known and truth(each.value) is False]
    if not off:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        keys=", ".join(f"`{each.name.rpartition('.')[2]}`" for each in off),
        stage=stage,
        where=place_of(*off),
        evidence=proofs(*off),
    )
