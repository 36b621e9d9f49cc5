"""Judges NCC8677/master, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_FIRST = TOML["first"]
#: launchers that are started on every machine, each with its own number, and hand the address to nobody else
_OWN_NUMBER = frozenset({"torchrun", "swift"})


@check(PROBLEM)
def master_is_loopback(world: World, launch: Launch | None) -> Judgement:
    """Judge only addresses that are loopback by definition."""
    address = world.master_addr or ""
    if (world.machines or 1) < 2 or (launch is not None and not launch.trains):
        return
    if address not in {"localhost", "::1"} and not address.startswith("127."):
        return
    own = (
        launch is not None and world.machine_rank == 0 and _numbered(launch)
    )  # it meets itself; the others may be told better
    yield found(
        PROBLEM,
        MESSAGE_FIRST if own else MESSAGE,
        severity=WARNING if own else None,
        confidence=LIKELY if own else CONFIRMED,
        machines=world.machines,
        address=address,
        commands=("hostname -I",),
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),) if launch is not None else (),
    )


def _numbered(launch: Launch) -> bool:
    """Whether the command says which machine it is for; without that the same command stands on all."""
    return launch.kind in _OWN_NUMBER and ("node_rank" in launch.options or "NODE_RANK" in launch.environment)
