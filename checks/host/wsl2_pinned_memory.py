"""Judges wsl2-pinned-memory (HST011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.named_models import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.host import Host

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
LOG_MESSAGE = TOML["log"]


SECTIONS = ("offload_optimizer", "offload_param")


def explain(hits: Hits) -> Finding:
    """The engine ends, where the check only warns; outside of WSL it is another platform's lack."""
    told = found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return replace(told, severity=ERROR)


@check(PROBLEM)
def wsl2_pinned_memory(host: Host, deepspeed_config: DeepspeedConfig) -> Judgement:
    """Judge the offload sections that say it; absent is false."""
    if host.wsl != 2:
        return
    for section in SECTIONS:
        key = f"zero_optimization.{section}.pin_memory"
        setting = deepspeed_config.settings.get(key)
        if setting is not None and setting.value is True:
            yield found(
                PROBLEM, MESSAGE, key=key, confidence=LIKELY, where=place_of(setting), evidence=(quoted(setting),)
            )
