"""Judges trinity-config-given-twice (TRI003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def trainer_config_twice(trinity_config: TrinityConfig) -> Judgement:
    """An empty `trainer_config` counts as none."""
    path = trinity_config.settings.get("trainer.trainer_config_path")
    inside = next((v for k, v in trinity_config.settings.items() if k.startswith("trainer.trainer_config.")), None)
    if path is None or not path.value or inside is None:
        return
    yield found(PROBLEM, MESSAGE, where=place_of(path), evidence=(proof(path), proof(inside)))
