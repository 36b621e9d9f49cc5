"""Judges nccl-broken-on-blackwell-workstation (NCC008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.shared.communication import ranks_here
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


CARDS = ("RTX 5090", "RTX PRO 6000 Blackwell")


@check(PROBLEM)
def broken_on_blackwell_workstation(
    gpus: Gpus,
    packages: Packages,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge several ranks on the cards that were reported."""
    visible = world.visible_gpus if world is not None and world.visible_gpus is not None else None
    cards = [
        gpu.name
        for gpu in gpus.gpus
        if gpu.name and any(card in gpu.name for card in CARDS) and (visible is None or gpu.index in visible)
    ]
    if len(cards) < 2 or ranks_here(world, serving, verl_config, trinity_config) < 2:
        return
    version = packages.version("nvidia-nccl-cu12")
    yield found(
        PROBLEM,
        MESSAGE,
        version=version,
        count=len(cards),
        name=cards[0],
        confidence=LIKELY,
        commands=('pip install -U "nvidia-nccl-cu12>=2.27"',),
        evidence=(
            Observed.quoted("installed packages", f"nvidia-nccl-cu12 {version}"),
            Observed.quoted("NVML", cards[0]),
        ),
    )


def explain(hits: Hits) -> Finding | None:
    """Only with the illegal access beside it: the version alone proves nothing."""
    if not hits.of(0) or not hits.of(1):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, nccl=hits.get("nccl")
    )
