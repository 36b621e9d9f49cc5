"""Judges LCH0284/trinity_mode, a row of value-unknown; its words stand in the TOML of the table."""

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


#: mode -> first release that has it (trinity/common/config.py and config_validator.py of each release)
MODES = {"explore": "0.1", "train": "0.1", "both": "0.1", "bench": "0.1", "serve": "0.3.1", "colocate": "0.5"}


@check(PROBLEM)
def mode_unknown(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Compare the written mode."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    setting = trinity.setting("mode")
    modes = [mode for mode, first in MODES.items() if packages.matches("trinity-rft", f">={first}")]
    if setting is None or not setting.known or setting.value in modes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=trinity.version,
        mode=setting.value,
        modes=", ".join(f"`{mode}`" for mode in modes),
        where=place_of(setting),
        commands=("mode: both",),
        evidence=(proof(setting),),
    )
