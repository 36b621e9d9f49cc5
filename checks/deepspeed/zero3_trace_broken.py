"""ZeRO-3 lost track of which parameters are gathered.

## What it means
ZeRO-3 gathers the weights of each module just before it runs, following the order of the first pass. Modules
that are called outside of the engine's forward pass (`generate` on the unwrapped model, layers that only some
ranks or batches use, mixtures of experts, reference models without an engine) break the bookkeeping.
## What it does to a run
An assertion about the parameter's status, or RuntimeError about parameters in flight, ends the run; if only
some ranks take another path they wait for each other until the time-out.
## What to do
Gather explicitly, run the same modules on all ranks, or use ZeRO-2.
## How it is found
In a log: by DeepSpeed's exceptions.
## References
https://deepspeed.readthedocs.io/en/latest/zero3.html
https://github.com/OpenRLHF/OpenRLHF/issues/312
https://github.com/huggingface/trl/pull/2871
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP030", name="zero3-parameters-out-of-step", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: still have inflight params"),
    Signature(r"AssertionError: \{'id': (?P<id>\d{1,7}), 'status': '(?P<status>NOT_AVAILABLE|INFLIGHT|AVAILABLE)'"),
    Signature(r"RuntimeError: \{'id': (?P<held>\d{1,7}), [^\n]{10,600}\} already in registry"),
    Signature(r"RuntimeError: tracing error at step (?P<step>\d{1,9}):"),
    Signature(r"^IndexError: pop from an empty deque", frame=r"partitioned_param_coordinator\.py:"),
    Signature(
        r"^AssertionError(?:: expected param)?",
        keywords=("AssertionError",),
        frame=r"partitioned_param_coordinator\.py:|deepspeed[\\/]runtime[\\/]zero[\\/]partition_parameters\.py:",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed ZeRO-3 lost track of which weights are gathered",
        "The modules did not run in the order that ZeRO-3 recorded, or ran outside of its engine:"
        " `generate` on the unwrapped model, layers that some batches or ranks skip (mixture of "
        "experts, image towers), a second forward pass in between.",
        "Wrap generation in TRL's `unwrap_model_for_generation` (upgrade TRL and DeepSpeed, `pip "
        "install -U deepspeed`), use `deepspeed.zero.GatheredParameters` where weights are read, "
        "`deepspeed.utils.set_z3_leaf_modules` for experts, or `stage3_prefetch_bucket_size: 0`; "
        "where the model fits, ZeRO-2 avoids it.",
    ),
    zh=Words(
        "DeepSpeed ZeRO-3 丢失了哪些权重已收集的记录",
        "各模块没有按 ZeRO-3 记录的顺序运行,或在其引擎之外运行:对解包后的模型调用 `generate`,"
        "某些批次或 rank 跳过的层(专家混合、图像塔),中间插入的第二次前向。",
        "用 TRL 的 `unwrap_model_for_generation` 包裹生成(升级 TRL 与 DeepSpeed,`pip install -U "
        "deepspeed`),读取权重时用 `deepspeed.zero.GatheredParameters`,专家层用 "
        "`deepspeed.utils.set_z3_leaf_modules`,或设 `stage3_prefetch_bucket_size: 0`;放得下时用 "
        "ZeRO-2 可避免。",
    ),
)
