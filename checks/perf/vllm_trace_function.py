"""VLLM_TRACE_FUNCTION is left on.

## What it means
vLLM writes every call of every Python function of its worker processes to a file.
## What it does to a run
Generation becomes many times slower and fills the temporary folder. vLLM's own manual warns against it.
## What to do
Unset it.
## How it is found
The variable as the run will have it, where vLLM serves or generates inside the training.
## References
https://docs.vllm.ai/en/latest/usage/troubleshooting.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="PRF004", name="vllm-trace-function", severity=WARNING, since="0.1", ends_run=False)
VARIABLE = "VLLM_TRACE_FUNCTION"

MESSAGE = Message(
    en=Words(
        "`VLLM_TRACE_FUNCTION={value}` writes every function call of vLLM to a file",
        "Generation becomes many times slower, and the temporary folder fills up.",
        "Unset it: it is for finding a function that hangs, nothing else.",
    ),
    zh=Words(
        "`VLLM_TRACE_FUNCTION={value}` 会把 vLLM 的每次函数调用写入文件",
        "生成会慢很多倍,临时目录也会被写满。",
        "取消该变量:它只用于查找挂起的函数。",
    ),
)


@check(PROBLEM)
def vllm_trace_function(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
    """Judge servers and training that may hold vLLM."""
    value = (value_of(environment, training, VARIABLE) or "").strip()
    inside = launch.kind in {"verl", "trinity"} or (training is not None and training.value("use_vllm") is True)
    if not value.isdigit() or int(value) == 0 or not (launch.serves or inside):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )
