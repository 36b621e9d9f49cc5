"""Judges DAT3073/schedule_in_every_process, a row of code-means-otherwise; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.data.columns.code_means_otherwise import written
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.script import Script
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def schedule_in_every_process(
    script: Script, world: World | None, accelerate_config: AccelerateConfig | None
) -> Judgement:
    """Judge runs of several processes: with one the scheduler advances as it is written."""
    processes = _processes(world, accelerate_config)
    if processes > 1:
        yield from written(TOML, script, processes=processes)


def _processes(world: World | None, config: AccelerateConfig | None) -> int:
    setting = config.settings.get("num_processes") if config is not None else None
    if setting is not None and setting.known and isinstance(setting.value, int):
        return setting.value
    return (world.processes or 0) if world is not None else 0
