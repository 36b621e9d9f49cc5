"""`accelerator.backward` has no DeepSpeed engine to call.

## What it means
Under DeepSpeed Accelerate's `backward` belongs to the engine that `prepare` made. An `Accelerator` whose `prepare`
never saw a model together with an optimizer, or a second `Accelerator`, has none.
## What it does to a run
The first backward raises AttributeError.
## What to do
Prepare model, optimizer and data loader in one call, with the `Accelerator` that does the backward.
## How it is found
In a log: by the attribute that is missing, inside Accelerate's `backward`.
## References
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/accelerator.py
https://huggingface.co/docs/accelerate/usage_guides/deepspeed
https://github.com/huggingface/accelerate/issues/2159
https://github.com/jxiw/MambaInLlama/issues/2
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ACC017", name="deepspeed-engine-not-prepared", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^AttributeError: '(?P<owner>Accelerator)' object has no attribute 'deepspeed_engine_wrapped'"),
    Signature(
        r"^AttributeError: '(?P<owner>NoneType)' object has no attribute 'backward'",
        frame=r"accelerate[\\/]accelerator\.py:backward",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`accelerator.backward` was called on an Accelerator that holds no DeepSpeed engine",
        "Under DeepSpeed the engine does the backward pass, and `prepare` makes it from a model and an "
        "optimizer given together. Here that never happened on this `Accelerator`: the model was prepared "
        "alone or not at all, by another instance, or `deepspeed.initialize` was called by hand beside it.",
        "Call `model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, "
        "scheduler)` once, on the same `Accelerator` that does `backward` (one per engine). If the project "
        'worked before, install the accelerate that it names (`pip install "accelerate==VERSION"`, see its '
        "requirements) or upgrade both: `pip install -U accelerate transformers`.",
    ),
    zh=Words(
        "在没有 DeepSpeed 引擎的 Accelerator 上调用了 `accelerator.backward`",
        "在 DeepSpeed 下由引擎执行反向传播,而引擎是 `prepare` 用一起传入的模型和优化器创建的。此"
        " `Accelerator` 上没有发生过:模型单独 prepare 或根本没有、由另一个实例 prepare,或另外手工调用了"
        " `deepspeed.initialize`。",
        "在执行 `backward` 的同一个 `Accelerator` 上一次性调用 `model, optimizer, loader, scheduler = "
        "accelerator.prepare(model, optimizer, loader, scheduler)`(每个引擎一个)。若该项目以前可用,安装其要"
        '求的 accelerate(`pip install "accelerate==VERSION"`,见其 requirements),或两者都升级:`pip install '
        "-U accelerate transformers`。",
    ),
)

LOG_CONFIDENCE = LIKELY
