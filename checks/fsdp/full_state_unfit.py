"""Accelerate cannot hand the loaded weights to the shards of FSDP2.

## What it means
With `fsdp_cpu_ram_efficient_loading` the first process loads the model and Accelerate gives every tensor of its state
to the sharded model of all ranks, name by name. Each tensor must be sharded, and both must have the same names.
## What it does to a run
AttributeError or KeyError while the model is prepared.
## What to do
What the finding says for the message.
## How it is found
In a log: by the exception in Accelerate's function.
## References
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/utils/fsdp_utils.py
https://huggingface.co/docs/accelerate/concept_guides/fsdp1_vs_fsdp2
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD020", name="full-state-unfit", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^AttributeError: '(?P<kind>\w{3,40})' object has no attribute 'device_mesh'",
        Message(
            en=Words(
                "a tensor of the model is not sharded (`{kind}`), and Accelerate hands out shards only",
                "Buffers that are saved with the model, quantized weights with their scales (bitsandbytes "
                "4-bit), or parameters outside of what FSDP2 wrapped.",
                "`fsdp_cpu_ram_efficient_loading: false`; `pip install -U accelerate`; for QLoRA FSDP1 "
                "(`fsdp_version: 1`) with `bnb_4bit_quant_storage` in the dtype of the model, or DDP.",
            ),
            zh=Words(
                "模型状态中有张量未分片(`{kind}`),而 Accelerate 只分发分片张量",
                "随模型保存的 buffer、量化权重及其缩放(bitsandbytes 4 位),或 FSDP2 包装范围之外的参数。",
                "`fsdp_cpu_ram_efficient_loading: false`;`pip install -U accelerate`;QLoRA 用 "
                "FSDP1(`fsdp_version: 1`)并使 `bnb_4bit_quant_storage` 与模型 dtype 相同,或用 DDP。",
            ),
        ),
    ),
    (
        (
            r"^KeyError: .{0,2}Parameter '(?P<weight>[\w.\-]{1,200})' found in sharded model state dict but "
            r"missing from full state dict"
        ),
        Message(
            en=Words(
                "the sharded model has `{weight}`, and the model that was loaded has not",
                "The two have different names: tied weights that one side keeps once, a wrapper or "
                "`torch.compile` that renames, or an adapter that was added on one side only.",
                "`fsdp_cpu_ram_efficient_loading: false`; add LoRA and compile before the trainer prepares the "
                "model; `pip install -U accelerate transformers peft`.",
            ),
            zh=Words(
                "分片模型中有 `{weight}`,而加载的模型中没有",
                "两者的名称不同:一侧只保存一次的共享权重、会重命名的包装或 `torch.compile`,或只在一侧添加了适配器。",
                "`fsdp_cpu_ram_efficient_loading: false`;在训练器准备模型之前添加 LoRA 与编译;`pip install -U "
                "accelerate transformers peft`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], frame=r"[\\/]accelerate[\\/]utils[\\/]fsdp_utils\.py:fsdp2_load_full_state_dict$"),
    Signature(CASES[1][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
