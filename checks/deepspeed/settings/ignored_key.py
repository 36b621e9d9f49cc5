"""Judges deepspeed-key-ignored (DSP009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.spelling import nearest
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import unread
from doctor.checks.deepspeed._keys import TOP
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def ignored_key(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Keys that resemble nothing may be a script's own and are left alone."""
    if deepspeed is None:
        yield from unread(training)
        return
    if deepspeed.broken:
        return
    seen = set()
    for name, setting in deepspeed.settings.items():
        key = name.partition(".")[0]
        if key in TOP or key in seen:
            continue
        seen.add(key)
        meant = nearest(key, TOP)
        if meant:
            yield found(
                PROBLEM,
                MESSAGE,
                key=key,
                nearest=meant,
                where=place_of(setting),
                confidence=LIKELY,
                commands=(f'"{meant}"',),
                evidence=(proof(setting),),
            )
