"""The command needs Ray and the environment does not have it.

## What it means
veRL and Trinity-RFT place all their processes by Ray, and vLLM does with `--distributed-executor-backend ray`. Ray is
no longer among vLLM's own requirements.
## What it does to a run
`ModuleNotFoundError: No module named 'ray'`, or vLLM's `Failed to import Ray`.
## What to do
Install Ray, or start vLLM with `--distributed-executor-backend mp`.
## How it is found
The command and the installed packages.
## References
https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html
https://verl.readthedocs.io/en/latest/start/install.html
"""

from __future__ import annotations

from doctor.checks.ray._helpers import asks_vllm_for_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="RAY001", name="ray-missing", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "{who} needs Ray, and it is not installed",
        "The command ends with `No module named 'ray'` or `Failed to import Ray` before anything is loaded.",
        "Install Ray{otherwise}.",
    ),
    zh=Words(
        "{who} 需要 Ray,但没有安装",
        "命令会在加载之前以 `No module named 'ray'` 或 `Failed to import Ray` 结束。",
        "安装 Ray{otherwise_zh}。",
    ),
)


@check(PROBLEM)
def ray_missing(launch: Launch, packages: Packages, serving: Serving | None) -> Judgement:
    """Judge programs that cannot do without."""
    names = {"verl": "veRL", "trinity": "Trinity-RFT"}
    of_vllm = asks_vllm_for_ray(serving)
    who = "vLLM with the Ray backend" if of_vllm else names.get(launch.kind)
    if who is None or "ray" in packages.distributions or packages.modules.get("ray"):
        return
    if not packages.complete:
        yield Skip("whether `ray` is installed is not in the list of packages")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        who=who,
        otherwise="; on one machine `--distributed-executor-backend mp` does without it" if of_vllm else "",
        otherwise_zh=";单机时用 `--distributed-executor-backend mp` 则不需要它" if of_vllm else "",
        commands=("pip install ray",),
        evidence=(Evidence("launch command", " ".join(launch.argv)),),
    )
