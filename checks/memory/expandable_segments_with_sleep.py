"""vLLM's sleep mode meets torch's expandable segments.

## What it means
PYTORCH_CUDA_ALLOC_CONF turns expandable segments on, and vLLM 0.8.0 to 0.20.0 refuses them together with sleep mode,
whose memory pool they cannot serve. From 0.20.1 vLLM turns them off for its own allocations.
## What it does to a run
`AssertionError: Expandable segments are not compatible with memory pool` when the engine is made.
## What to do
Remove `expandable_segments:True`, turn sleep mode off, or install vLLM 0.20.1 or newer.
## How it is found
The variable of the command or of the script, and the sleep mode of server or trainer.
## References
https://github.com/vllm-project/vllm/pull/14189
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(
    id="MEM005", name="expandable-segments-with-sleep", severity=ERROR, since="0.1", affects={"vllm": ">=0.8,<=0.20.0"}
)

VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")

MESSAGE = Message(
    en=Words(
        "`{variable}` turns expandable segments on, and vLLM {version} refuses them in sleep mode",
        "The engine ends with `Expandable segments are not compatible with memory pool`. This is a limit of vLLM up to "
        "0.20.0.",
        "Remove `expandable_segments:True` from `{variable}`, or turn sleep mode off.",
    ),
    zh=Words(
        "`{variable}` 打开了 expandable segments,而 vLLM {version} 在睡眠模式下拒绝它",
        "引擎会以 `Expandable segments are not compatible with memory pool` 退出。这是 vLLM 0.20.0 及之前版本的限制。",
        "从 `{variable}` 中去掉 `expandable_segments:True`,或关闭睡眠模式。",
    ),
)


@check(PROBLEM)
def expandable_segments_with_sleep(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """The variable counts from wherever it is set before torch starts."""
    setting = serving.arguments.get("enable_sleep_mode") if serving is not None else None
    if setting is None and training is not None and training.value("use_vllm"):
        setting = training.get("vllm_enable_sleep_mode")
    if setting is None or not setting.known or not truth(setting.value):
        return
    for variable in VARIABLES:
        written = training.environment_set.get(variable) if training is not None else None
        value = str(written.value) if written is not None and written.known else environment.get(variable) or ""
        if "expandable_segments:true" not in value.replace(" ", "").lower():
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            variable=variable,
            version=packages.version("vllm"),
            where=place_of(written, setting),
            commands=(f"unset {variable}",),
            evidence=(Evidence("environment", f"{variable}={value}"), proof(setting)),
        )
