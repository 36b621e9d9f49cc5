"""Judges fabric-manager-silent (CUD011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: https://docs.nvidia.com/deploy/nvml-api/group__nvmlFabricDefs.html
WAITING = ("not started", "in progress")


@check(PROBLEM)
def fabric_not_joined(gpus: Gpus, world: World | None) -> Judgement:
    """Of the GPUs that the run sees; a card without NVSwitch has no such state."""
    seen = world.visible_gpus if world is not None else None
    waiting = [
        gpu for gpu in gpus.that_report("fabric_state")
        if gpu.fabric_state in WAITING and (seen is None or gpu.index in seen)
    ]  # fmt: skip
    if waiting:
        yield found(
            PROBLEM, TOML["main"], confidence=LIKELY, commands=TOML.commands,
            gpus=", ".join(gpu.label for gpu in waiting),
            state=waiting[0].fabric_state,
            evidence=(Observed.quoted("NVML", f"fabric state of GPU {waiting[0].index}: {waiting[0].fabric_state}"),),
        )  # fmt: skip
