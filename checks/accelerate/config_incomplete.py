"""Judges accelerate-config-incomplete (ACC002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs, unread_config
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
NO_TYPE = TOML["no_type"]
NO_NUMBER = TOML["no_number"]


@check(PROBLEM)
def config_incomplete(launch: Launch, accelerate: AccelerateConfig | None, world: World | None) -> Judgement:
    """A broken or empty file is another problem."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if launch.kind not in {"accelerate", "trl"} or accelerate.broken or not accelerate.settings:
        return
    name = accelerate.path.rpartition("/")[2]
    kind = accelerate.settings.get("distributed_type")
    if kind is None:
        line = (Where(file=accelerate.path), ("distributed_type: MULTI_GPU",))
        yield found(PROBLEM, NO_TYPE, file=name, where=line[0], commands=line[1])
        return
    number = accelerate.settings.get("num_processes")
    given = launch.option("num_processes") or (world is not None and world.processes is not None)
    if given or kind.value in {"NO", False}:
        return
    if number is None or number.value == -1:
        yield found(
            PROBLEM,
            NO_NUMBER,
            file=name,
            where=place_of(number) or Where(file=accelerate.path),
            commands=("--num_processes 8",),
            evidence=proofs(number, kind),
        )
