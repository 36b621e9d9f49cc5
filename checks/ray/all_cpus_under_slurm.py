"""Under Slurm veRL lets Ray take all CPUs of the node.

## What it means
Ray counts the CPUs of the node, not those that Slurm has given to the job, and starts a worker for each at once.
## What it does to a run
On a node that the job shares, hundreds of workers fight for a few cores, none registers in time, and `ray.init` seems
to hang. veRL's own configuration says to name a number under Slurm. A job that has the whole node is not touched.
## What to do
Set `num_cpus` to the CPUs of the job.
## How it is found
SLURM_JOB_ID is set, veRL starts Ray by itself, and `ray_init.num_cpus` is not set.
## References
https://github.com/verl-project/verl/issues/523
https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/config/ppo_trainer.yaml
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="RAY006", name="ray-takes-all-cpus-under-slurm", severity=INFO, since="0.1", affects={"verl": ">=0.4"}
)
KEYS = ("ray_kwargs.ray_init.num_cpus", "ray_init.num_cpus")
COUNTS = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")

MESSAGE = Message(
    en=Words(
        "veRL runs in Slurm job {job} and `{key}` is not set",
        "Ray starts a worker for every CPU of the node, not only for those of the job. On a shared node they starve, "
        "and `ray.init` seems to hang.",
        "Set it to the number of CPUs of the job, unless the job has the whole node.",
    ),
    zh=Words(
        "veRL 运行在 Slurm 作业 {job} 中,而未设置 `{key}`",
        "Ray 会为节点上的每个 CPU 启动工作进程,而不只是作业分到的那些。在共享节点上它们会抢不到 CPU,"
        "`ray.init` 看起来像挂住。",
        "设为作业的 CPU 数;作业独占节点时不需要。",
    ),
)


@check(PROBLEM)
def all_cpus_under_slurm(
    environment: Environment, verl_config: VerlConfig, packages: Packages, ray_cluster: RayCluster | None
) -> Judgement:
    """A cluster that runs already has its number of CPUs."""
    job = environment.get("SLURM_JOB_ID")
    if not job or (ray_cluster is not None and ray_cluster.address):
        return
    if any((setting := verl_config.get(key)) is not None and setting.value is not None for key in KEYS):
        return
    from doctor import data

    known = data.verl_keys(packages.version("verl") or "")
    if known is None:
        yield Skip("the keys of this veRL are not known")
        return
    key = next((each for each in KEYS if each in known), None)
    if key is None:
        return
    count = next((environment.get(each) for each in COUNTS if environment.get(each)), None)
    yield found(
        PROBLEM,
        MESSAGE,
        job=job,
        key=key,
        confidence=LIKELY,
        commands=(f"{key}={count or '$SLURM_CPUS_ON_NODE'}",),
        evidence=(Evidence("environment", f"SLURM_JOB_ID={job}"),),
    )
