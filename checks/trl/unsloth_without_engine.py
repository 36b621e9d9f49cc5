"""Unsloth's GRPO asks for a vLLM engine that the model was loaded without.

## What it means
Unsloth's patched GRPOTrainer takes the engine from `model.vllm_engine`, which
`FastLanguageModel.from_pretrained` makes only with `fast_inference=True`; `use_vllm=True` alone does not. The methods
`save_lora` and `load_lora` come with the engine, and `fast_generate` takes vLLM's `SamplingParams` only then.
## What it does to a run
The trainer raises AttributeError when it is made, or the line that generates, saves or loads the adapter does.
## What to do
Load with `fast_inference=True`, or switch `use_vllm` off.
## How it is found
In a log: by the attribute that the model lacks.
## References
https://docs.unsloth.ai/get-started/reinforcement-learning-rl-guide
https://github.com/unslothai/unsloth/issues/2107
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL044", name="unsloth-without-vllm-engine", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AttributeError: '(?P<model>\w{1,80})' object has no attribute 'vllm_engine'"),
    Signature(
        r"AttributeError: '(?P<model>\w{1,80})' object has no attribute '(?P<method>save_lora|load_lora|fast_generate)'"
    ),
    Signature(
        r"AttributeError: '(?P<given>SamplingParams)' object has no attribute '\w{1,60}'",
        frame=r"transformers[\\/]generation[\\/]",
    ),
)

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

METHOD = Message(
    en=Words(
        "`{model}` has no `{method}`: Unsloth gives it to a model that was loaded with `fast_inference=True`",
        "`save_lora`, `load_lora` and vLLM's `fast_generate` come with the engine that Unsloth makes while it loads. "
        "Without it the model is a plain one of Transformers or PEFT.",
        "Save the adapter the ordinary way, `model.save_pretrained(FOLDER)` with `tokenizer.save_pretrained(FOLDER)`, "
        "and generate with `model.generate(...)`; or load with "
        "`FastLanguageModel.from_pretrained(..., fast_inference=True)`.",
    ),
    zh=Words(
        "`{model}` 没有 `{method}`:Unsloth 只给以 `fast_inference=True` 加载的模型提供它",
        "`save_lora`、`load_lora` 与 vLLM 版 `fast_generate` 随 Unsloth 加载时创建的引擎而来。没有引擎时,模型只是"
        "普通的 Transformers 或 PEFT 模型。",
        "用常规方式保存 adapter:`model.save_pretrained(FOLDER)` 与 `tokenizer.save_pretrained(FOLDER)`,并用 "
        "`model.generate(...)` 生成;或以 `FastLanguageModel.from_pretrained(..., fast_inference=True)` 加载。",
    ),
)
SAMPLING = Message(
    en=Words(
        "vLLM's `SamplingParams` reached `generate` of Transformers, which does not know it",
        "`model.fast_generate` of Unsloth hands prompts and `SamplingParams` to vLLM only when the model was loaded "
        "with `fast_inference=True`; otherwise it is the `generate` of Transformers, which wants tensors and a "
        "`GenerationConfig`.",
        "Load with `from_pretrained(..., fast_inference=True)` (vLLM installed, an architecture that it supports); or "
        "call `model.generate(**inputs, max_new_tokens=..., temperature=...)` with tokenized inputs.",
    ),
    zh=Words(
        "vLLM 的 `SamplingParams` 传到了 Transformers 的 `generate`,而后者不认识它",
        "Unsloth 的 `model.fast_generate` 只有在以 `fast_inference=True` 加载时才把提示与 `SamplingParams` 交给 vLLM;"
        "否则它就是 Transformers 的 `generate`,需要张量和 `GenerationConfig`。",
        "以 `from_pretrained(..., fast_inference=True)` 加载(需安装 vLLM 且其支持该架构);或用分词后的输入调用 "
        "`model.generate(**inputs, max_new_tokens=..., temperature=...)`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The engine, a method that comes with it, or arguments that only it takes; other classes have such names, too."""
    message = hits.choice({"given": SAMPLING, "method": METHOD}, LOG_MESSAGE)
    unsloth = any("unsloth" in frame.lower() for hit in hits for frame in hit.frames)
    if not unsloth and hits.first.frames and message is LOG_MESSAGE:
        return None
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), model=hits.get("model"),
        method=hits.get("method"), confidence=CONFIRMED if unsloth else LIKELY,
    )  # fmt: skip
