"""Judges PYT3270/pdsh, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.commands import Commands
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


@check(PROBLEM)
def multinode_launcher_missing(launch: Launch, world: World, commands: Commands) -> Judgement:
    """Only pdsh, the default: the others are named by people who have them."""
    if launch.kind != "deepspeed" or world.machines is None or world.machines < 2:
        return
    if launch.option("launcher") is not None or launch.option("no_ssh") is not None or "pdsh" in commands.found:
        return
    hosts = launch.option("hostfile")
    yield found(
        PROBLEM,
        LOG_MESSAGE,
        where=place_of(hosts),
        evidence=(*proofs(hosts), Observed.quoted("PATH", "no `pdsh`")),
        launcher="pdsh",
    )
