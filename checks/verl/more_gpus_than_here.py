"""veRL asks for more GPUs than this machine shows.

## What it means
`trainer.n_gpus_per_node` is 8 by default, on one machine (`trainer.nnodes=1`). Without a Ray cluster veRL
starts Ray on this machine, with the GPUs that CUDA_VISIBLE_DEVICES leaves.
## What it does to a run
`Total available GPUs 4 is less than total desired GPUs 8`, after Ray has started.
## What to do
Set `trainer.n_gpus_per_node`, show more GPUs, or join a Ray cluster first.
## How it is found
The composed values against NVML, where no Ray cluster is running or named.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/ppo/ray_trainer.py
https://github.com/verl-project/verl/blob/v0.9.1/verl/single_controller/ray/base.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="VRL007", name="verl-more-gpus-than-here", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "veRL wants {want} GPUs on one machine, and {have} are visible",
        "No Ray cluster is running, so veRL starts one here and ends with "
        "`Total available GPUs {have} is less than total desired GPUs {want}`.",
        "Set the number of GPUs to what is there, or make more visible.",
    ),
    zh=Words(
        "veRL 要求单机 {want} 张 GPU,而可见的只有 {have} 张",
        "没有正在运行的 Ray 集群,veRL 会在本机启动 Ray,并以 "
        "`Total available GPUs {have} is less than total desired GPUs {want}` 退出。",
        "把 GPU 数设为实际数量,或让更多 GPU 可见。",
    ),
)


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
    if world.visible_gpus is None:
        yield Skip("the GPUs of this machine cannot be seen")
        return
    want, have = verl.number(KEY), len(world.visible_gpus)
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
        evidence=(*verl.quoted(KEY), Evidence("visible GPUs", ", ".join(map(str, world.visible_gpus)))),
    )
