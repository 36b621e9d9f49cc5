"""Unsloth's GRPO asks for a vLLM engine that the model was loaded without.

## What it means
Unsloth's patched GRPOTrainer takes the engine from `model.vllm_engine`, which
`FastLanguageModel.from_pretrained` makes only with `fast_inference=True`; `use_vllm=True` alone does not.
## What it does to a run
The trainer raises AttributeError when it is made.
## What to do
Load with `fast_inference=True`, or switch `use_vllm` off.
## How it is found
In a log: by the attribute that the model lacks.
## References
https://docs.unsloth.ai/get-started/reinforcement-learning-rl-guide
https://github.com/unslothai/unsloth/issues/2107
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL044", name="unsloth-without-vllm-engine", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AttributeError: '(?P<model>\w{1,80})' object has no attribute 'vllm_engine'"),)


LOG_MESSAGE = Message(
    en=Words(
        "`{model}` was loaded without the vLLM engine that Unsloth's GRPO trainer takes from it",
        "`use_vllm=True` makes Unsloth's trainer read `model.vllm_engine`, which exists only "
        "when the model was loaded with `fast_inference=True`, and not for full fine-tuning or "
        "architectures that vLLM cannot share.",
        "Load with `FastLanguageModel.from_pretrained(..., fast_inference=True)`, or set "
        "`use_vllm=False` in GRPOConfig.",
    ),
    zh=Words(
        "`{model}` 加载时没有 Unsloth 的 GRPO 训练器所需的 vLLM 引擎",
        "`use_vllm=True` 时,Unsloth 的训练器读取 `model.vllm_engine`,它只在以 "
        "`fast_inference=True` 加载时存在,全量微调或 vLLM 无法共享的架构则没有。",
        "用 `FastLanguageModel.from_pretrained(..., fast_inference=True)` 加载,或在 GRPOConfig 中设 `use_vllm=False`。",
    ),
)
