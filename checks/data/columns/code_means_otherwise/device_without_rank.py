"""Judges DAT3073/device_without_rank, a row of code-means-otherwise; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.data.columns.code_means_otherwise import written
from doctor.facts.script import Script
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def device_without_rank(script: Script, world: World | None) -> Judgement:
    """Judge runs of several processes on a machine: with one GPU 0 is the right one."""
    processes = (world.processes or 0) if world is not None else 0
    if world is not None and processes > (world.machines or 1):
        yield from written(TOML, script, processes=processes)
