"""`VLLM_ATTENTION_BACKEND` is set, and nothing reads it any more.

## What it means
The variable was deprecated in 0.13.0 and is gone from 0.15.0 on. The backend is an option of the engine
now.
## What it does to a run
vLLM chooses its backend by itself. A run that was pinned to one for its numbers, or for a bug, is so no
longer.
## What to do
Use `--attention-backend`, or `attention_config` of the engine's arguments.
## How it is found
The variable as the command or the script sets it, and the installed vLLM.
## References
https://github.com/vllm-project/vllm/blob/v0.14.0/vllm/config/attention.py
https://github.com/vllm-project/vllm/blob/v0.15.0/vllm/envs.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(
    id="VLL024",
    name="attention-backend-variable-ignored",
    severity=WARNING,
    since="0.1",
    affects={"vllm": ">=0.15"},
)

MESSAGE = Message(
    en=Words(
        "`VLLM_ATTENTION_BACKEND={value}` has no effect in vLLM {version}",
        "The variable left in 0.15.0, so vLLM chooses its attention backend by itself.",
        "Unset the variable, and give the backend as an option of the engine if it matters.",
    ),
    zh=Words(
        "`VLLM_ATTENTION_BACKEND={value}` 在 vLLM {version} 中不起作用",
        "该变量已在 0.15.0 中移除,vLLM 会自行选择注意力后端。",
        "取消设置该变量;如果后端很重要,用引擎选项指定。",
    ),
)


@check(PROBLEM)
def backend_variable_ignored(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    if serving is not None and "attention_backend" in serving.arguments:
        return
    setting = training.environment_set.get("VLLM_ATTENTION_BACKEND") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_ATTENTION_BACKEND")
    if not value:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        version=packages.version("vllm"),
        where=place_of(setting),
        commands=(f"--attention-backend {value.removesuffix('_VLLM_V1')}",) if serving is not None else (),
        evidence=proofs(setting) or (Evidence("environment", f"VLLM_ATTENTION_BACKEND={value}"),),
    )
