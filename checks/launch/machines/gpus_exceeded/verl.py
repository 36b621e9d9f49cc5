"""Judges LCH5095/verl, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


KEY = "trainer.n_gpus_per_node"


@check(PROBLEM)
def more_gpus_than_here(
    verl_config: VerlConfig, packages: Packages, launch: Launch, world: World, ray_cluster: RayCluster
) -> Judgement:
    """A cluster may have its GPUs elsewhere; a machine without any is another problem."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    elsewhere = any(key.startswith("ray_kwargs.ray_init.address") for key in verl.config.overrides)
    if ray_cluster.raylet_running or ray_cluster.address or elsewhere or "ray job submit" in launch.wrappers:
        return
    shown = list(map(str, world.visible_gpus)) if world.visible_gpus is not None else _left(launch)
    if shown is None:
        yield Skip("the GPUs of this machine cannot be seen")
        return
    want, have = verl.number(KEY), len(shown)
    if verl.number("trainer.nnodes") != 1 or not want or not have or want <= have:
        return
    if verl.value("trainer.device") not in {None, "cuda"}:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        want=want,
        have=have,
        where=place_of(*place_settings(verl, KEY)),
        commands=(f"{KEY}={have}",),
        evidence=(*verl.quoted(KEY), Observed.quoted("visible GPUs", ", ".join(shown))),
    )


def _left(launch: Launch) -> list[str] | None:
    """The cards that the command itself leaves visible, on whatever machine: there are no more than those."""
    names = launch.environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return names if all(each.strip().isdigit() for each in names) else None
