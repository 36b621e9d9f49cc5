"""The xFormers attention backend is named, and vLLM has dropped it.

## What it means
`VLLM_ATTENTION_BACKEND=XFORMERS` was the usual choice for V100 and T4. vLLM 0.12.0 removed the backend;
0.12.0 to 0.14.1 still read the variable.
## What it does to a run
The engine ends while it chooses its backend: `Attention backend 'XFORMERS' has been removed`.
## What to do
Unset the variable: vLLM picks a backend that runs on the card.
## How it is found
The variable as the command or the script sets it, and the installed vLLM.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/pull/29262
https://github.com/vllm-project/vllm/blob/v0.12.0/vllm/attention/selector.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(
    id="VLL025", name="xformers-backend-gone", severity=ERROR, since="0.1", affects={"vllm": ">=0.12,<0.15"}
)

SIGNATURES = (Signature(r"Attention backend 'XFORMERS' has been removed"),)

LOG_MESSAGE = Message(
    en=Words(
        "the attention backend XFORMERS was asked for, and this vLLM no longer has it",
        "vLLM 0.12 dropped the xFormers backend. The name comes from VLLM_ATTENTION_BACKEND or from "
        "`--attention-backend`.",
        "Take the choice out (`unset VLLM_ATTENTION_BACKEND`): vLLM picks FLASH_ATTN, FLASHINFER or "
        "TRITON_ATTN by the card; or install vLLM 0.11.2.",
    ),
    zh=Words(
        "要求使用注意力后端 XFORMERS,而此 vLLM 已不再提供",
        "vLLM 0.12 移除了 xFormers 后端。该名称来自 VLLM_ATTENTION_BACKEND 或 `--attention-backend`。",
        "去掉该设置(`unset VLLM_ATTENTION_BACKEND`):vLLM 会按显卡选择 FLASH_ATTN、FLASHINFER 或 "
        "TRITON_ATTN;或安装 vLLM 0.11.2。",
    ),
)

LOG_COMMANDS = ("unset VLLM_ATTENTION_BACKEND",)

MESSAGE = Message(
    en=Words(
        "`VLLM_ATTENTION_BACKEND=XFORMERS` names a backend that vLLM {version} does not have",
        "vLLM removed it in 0.12.0 and refuses the name when the engine starts.",
        "Unset the variable, and let vLLM pick a backend for this card.",
    ),
    zh=Words(
        "`VLLM_ATTENTION_BACKEND=XFORMERS` 指定了 vLLM {version} 已没有的后端",
        "vLLM 在 0.12.0 中移除了它,引擎启动时会拒绝该名称。",
        "取消设置该变量,让 vLLM 为这张卡选择后端。",
    ),
)


@check(PROBLEM)
def xformers_backend_gone(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    setting = training.environment_set.get("VLLM_ATTENTION_BACKEND") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_ATTENTION_BACKEND")
    if (value or "").upper() != "XFORMERS":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        where=place_of(setting),
        commands=("unset VLLM_ATTENTION_BACKEND",),
        evidence=proofs(setting) or (Evidence("environment", f"VLLM_ATTENTION_BACKEND={value}"),),
    )
