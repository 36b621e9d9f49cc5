"""VLLM_USE_MODELSCOPE is on and ModelScope's package is missing or too old.

## What it means
With the variable vLLM takes models from ModelScope instead of Hugging Face, and for that needs `modelscope` 1.18.1 or
newer.
## What it does to a run
Importing vLLM ends with `ImportError: ... install modelscope>=1.18.1`, also for a model that lies on this machine.
## What to do
Install it, or unset the variable.
## How it is found
The variable as the run will have it, and the installed packages, where the command starts vLLM.
## References
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/transformers_utils/__init__.py
https://docs.vllm.ai/en/stable/models/supported_models.html#modelscope
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="HUB005", name="modelscope-missing", severity=ERROR, since="0.1", affects={"vllm": ">=0.8.5"})
VARIABLE = "VLLM_USE_MODELSCOPE"

MESSAGE = Message(
    en=Words(
        "`VLLM_USE_MODELSCOPE={value}`, and `modelscope` is {state}",
        "Importing vLLM ends with `ImportError: ... install modelscope>=1.18.1`, also for a model on this machine.",
        "Install modelscope 1.18.1 or newer, or unset the variable.",
    ),
    zh=Words(
        "设置了 `VLLM_USE_MODELSCOPE={value}`,而 `modelscope` 的状态是 {state}",
        "导入 vLLM 会以 `ImportError: ... install modelscope>=1.18.1` 失败,即使模型就在本机。",
        "安装 modelscope 1.18.1 及以上版本,或取消该变量。",
    ),
)


@check(PROBLEM)
def modelscope_missing(
    launch: Launch, environment: Environment, packages: Packages, training: Training | None
) -> Judgement:
    """Judge commands that start vLLM; vLLM reads the variable as `true` or a number."""
    value = (value_of(environment, training, VARIABLE) or "").strip()
    inside = training is not None and training.value("use_vllm") is True
    if value.lower() not in {"1", "true"} or not (launch.serves or inside):
        return
    if packages.matches("modelscope", ">=1.18.1"):
        return
    version = packages.version("modelscope")
    if version is None and ("modelscope" in packages.distributions or not packages.complete):
        yield Skip("the version of `modelscope` is not known")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        state=version or "not installed",
        where=where_set(training, VARIABLE),
        commands=('pip install "modelscope>=1.18.1"',),
        evidence=shown(VARIABLE, value),
    )
