"""`VLLM_USE_V1=1` forces an engine that refuses the GPU.

## What it means
In vLLM 0.8.0 to 0.10.1.1 the V1 engine wants compute capability 8.0. Left alone vLLM falls back to V0 on
older cards; the variable forbids that.
## What it does to a run
`NotImplementedError: VLLM_USE_V1=1 is not supported with Compute Capability < 8.0` at start-up.
## What to do
Unset the variable, or install vLLM 0.10.2 or newer, whose V1 engine takes such cards.
## How it is found
The variable as the command sees it and the compute capability of the GPUs on which the engine will run.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/engine/arg_utils.py
https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/engine/arg_utils.py
"""

from __future__ import annotations

from doctor.checks.vllm._helpers import capability, engine_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="VLL013",
    name="v1-engine-forced-on-old-gpu",
    severity=ERROR,
    since="0.1",
    affects={"vllm": ">=0.8,<0.10.2"},
)

SIGNATURES = (Signature(r"VLLM_USE_V1=1 is not supported with Compute Capability < 8\.0"),)

LOG_MESSAGE = Message(
    en=Words(
        "`VLLM_USE_V1=1` forces an engine that needs compute capability 8.0",
        "The V1 engine of this vLLM does not run on cards older than Ampere. Left alone, vLLM would have "
        "taken its old engine.",
        "Take `VLLM_USE_V1` out of the environment (`unset VLLM_USE_V1`), or install vLLM 0.10.2 or "
        "newer, where the rule is gone.",
    ),
    zh=Words(
        "`VLLM_USE_V1=1` 强制使用需要计算能力 8.0 的引擎",
        "此版本 vLLM 的 V1 引擎不能在 Ampere 之前的显卡上运行。若不设置,vLLM 会自动使用旧引擎。",
        "从环境中删除 `VLLM_USE_V1`(`unset VLLM_USE_V1`),或安装 vLLM 0.10.2 及以上版本,该限制已取消。",
    ),
)

LOG_COMMANDS = ("unset VLLM_USE_V1",)

MESSAGE = Message(
    en=Words(
        "`VLLM_USE_V1=1` forces vLLM's V1 engine, which refuses {gpu} ({capability})",
        "vLLM {version} ends with `VLLM_USE_V1=1 is not supported with Compute Capability < 8.0`; without "
        "the variable it would use the V0 engine.",
        "Unset `VLLM_USE_V1`.",
    ),
    zh=Words(
        "`VLLM_USE_V1=1` 强制使用 vLLM 的 V1 引擎,而它不支持 {gpu}({capability})",
        "vLLM {version} 会以 `VLLM_USE_V1=1 is not supported with Compute Capability < 8.0` 退出;不设置该变"
        "量时会使用 V0 引擎。",
        "取消设置 `VLLM_USE_V1`。",
    ),
)


@check(PROBLEM)
def v1_forced_on_old_gpu(
    packages: Packages,
    gpus: Gpus,
    environment: Environment,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """VLLM asks the first GPU."""
    if (environment.get("VLLM_USE_V1") or "").strip() != "1":
        return
    used = engine_gpus(serving, training, world, gpus, environment, packages)
    if used and used[0].compute_capability is not None and used[0].compute_capability < (8, 0):
        yield found(
            PROBLEM,
            MESSAGE,
            gpu=used[0].label,
            capability=capability(used[0]),
            version=packages.version("vllm"),
            where=Where(gpu=used[0].index),
            commands=("unset VLLM_USE_V1",),
            evidence=(Evidence("environment", "VLLM_USE_V1=1"),),
        )
