"""Judges NCC8677/master, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def master_is_loopback(launch: Launch, world: World) -> Judgement:
    """Judge only addresses that are loopback by definition."""
    address = world.master_addr or ""
    if (world.machines or 1) < 2 or not launch.trains:
        return
    if address not in {"localhost", "::1"} and not address.startswith("127."):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        machines=world.machines,
        address=address,
        commands=("hostname -I",),
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
    )
