"""Code asks a wrapper for what only the model inside has.

## What it means
DDP, FSDP, DataParallel and DeepSpeed wrap the model in a module of their own. It passes `forward` on and nothing else:
attributes and methods of the model are one level deeper. With one GPU nothing is wrapped, so the code worked there.
## What it does to a run
AttributeError on every rank, when the line is first reached: at the start, at the first save or evaluation.
## What to do
Take the model out of its wrapper before the attribute is used.
## How it is found
In a log: by the exception, which names the wrapper and the attribute.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.unwrap_model
https://github.com/kohya-ss/sd-scripts/issues/1272
https://github.com/lucidrains/imagen-pytorch/issues/209
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR057", name="model-behind-wrapper", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?P<wrapper>DistributedDataParallel|DataParallel|FullyShardedDataParallel|DeepSpeedEngine"
        r"|FSDP\w{0,40})' object has no attribute '(?P<attribute>\w{1,80})'",
        symptom_of=("TRL", "TRF", "ACC", "DSP", "VRL", "ORL", "FSD"),
    ),
)

MESSAGE = Message(
    en=Words(
        "`{attribute}` is asked of the wrapper `{wrapper}`, and it belongs to the model inside of it",
        "With several processes the model is wrapped, and the wrapper passes only `forward` on. The line was "
        "written for one GPU, where there is no wrapper.",
        "Unwrap first: `accelerator.unwrap_model(model).{attribute}` with Accelerate or a Trainer, else "
        "`model.module.{attribute}` (`getattr(model, 'module', model).{attribute}` serves both cases). Where a "
        "library's own line fails, upgrade the library, or start one process.{caution}",
    ),
    zh=Words(
        "向包装器 `{wrapper}` 请求 `{attribute}`,而它属于被包装的模型",
        "多进程时模型被包装,而包装器只转发 `forward`。该行是为单 GPU 编写的,那时没有包装器。",
        "先解包:使用 Accelerate 或 Trainer 时 `accelerator.unwrap_model(model).{attribute}`,否则 "
        "`model.module.{attribute}`(`getattr(model, 'module', model).{attribute}` 两种情形都适用)。若出错的是库自己"
        "的代码,请升级该库,或只启动一个进程。{caution_zh}",
    ),
)
_SHARDED = (
    " Under sharding read and write weights only inside of `summon_full_params` or `GatheredParameters`.",
    "分片时只能在 `summon_full_params` 或 `GatheredParameters` 内读写权重。",
)


def explain(hits: Hits) -> Finding:
    """With a caution where the weights are sharded."""
    wrapper = hits.get("wrapper") or ""
    caution = _SHARDED if wrapper.startswith(("F", "Deep")) else ("", "")
    return found(
        PROBLEM, MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wrapper=wrapper,
        attribute=hits.get("attribute"), caution=caution[0], caution_zh=caution[1],
    )  # fmt: skip
