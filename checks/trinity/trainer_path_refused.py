"""Judges trinity-config-path-refused (TRI002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.shared.trinity_settings import Trinity, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


TRAINS = {"train", "both", "colocate"}


@check(PROBLEM)
def trainer_path_refused(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Beside settings of the trainer the path is another problem; other modes do not read it."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    setting = trinity.setting("trainer.trainer_config_path")
    both = any(key.startswith("trainer.trainer_config.") for key in trinity.config.settings)
    if setting is None or not setting.value or both or trinity.value("mode") not in TRAINS:
        return
    if trinity.value("trainer.trainer_type") != "verl":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=trinity.version,
        where=place_of(setting),
        commands=("trainer_config:",),
        evidence=(proof(setting),),
    )
