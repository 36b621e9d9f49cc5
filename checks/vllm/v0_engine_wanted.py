"""`VLLM_USE_V1=0` asks for an engine that is gone.

## What it means
vLLM 0.11.0 removed the V0 engine. 0.11.0 itself still reads the variable and refuses 0; from 0.11.1 on
nothing reads it.
## What it does to a run
With 0.11.0 the engine ends at start-up with `Using V1 LLMEngine, but envs.VLLM_USE_V1=False`. Later
releases run the V1 engine all the same, so that what the variable was to bring about does not happen.
## What to do
Unset it.
## How it is found
The variable as the command or the script sets it, and the installed vLLM.
## References
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/engine/async_llm.py
https://github.com/vllm-project/vllm/issues/18571
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(id="VLL023", name="v0-engine-wanted", severity=WARNING, since="0.1", affects={"vllm": ">=0.11"})

REFUSED = Message(
    en=Words(
        "`VLLM_USE_V1=0` asks for the V0 engine, which vLLM {version} does not have",
        "The engine ends at start-up with `Using V1 LLMEngine, but envs.VLLM_USE_V1=False`.",
        "Unset `VLLM_USE_V1`.",
    ),
    zh=Words(
        "`VLLM_USE_V1=0` 要求使用 V0 引擎,而 vLLM {version} 已没有它",
        "引擎启动时会以 `Using V1 LLMEngine, but envs.VLLM_USE_V1=False` 退出。",
        "取消设置 `VLLM_USE_V1`。",
    ),
)

IGNORED = Message(
    en=Words(
        "`VLLM_USE_V1=0` has no effect in vLLM {version}",
        "The V0 engine left in 0.11.0 and nothing reads the variable any more: the V1 engine runs.",
        "Unset `VLLM_USE_V1`, and look whether the reason for it still holds.",
    ),
    zh=Words(
        "`VLLM_USE_V1=0` 在 vLLM {version} 中不起作用",
        "V0 引擎已在 0.11.0 中移除,该变量不再被读取,运行的是 V1 引擎。",
        "取消设置 `VLLM_USE_V1`,并确认当初设置它的原因是否仍然存在。",
    ),
)


@check(PROBLEM)
def v0_engine_wanted(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    setting = training.environment_set.get("VLLM_USE_V1") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_USE_V1")
    if (value or "").strip() != "0":
        return
    refused = bool(packages.matches("vllm", "<0.11.1"))
    yield found(
        PROBLEM,
        REFUSED if refused else IGNORED,
        version=packages.version("vllm"),
        severity=ERROR if refused else WARNING,
        where=place_of(setting),
        commands=("unset VLLM_USE_V1",),
        evidence=proofs(setting) or (Evidence("environment", "VLLM_USE_V1=0"),),
    )
