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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR057", name="model-behind-wrapper", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = ("TRL", "TRF", "ACC", "DSP", "VRL", "ORL", "FSD")

# FSDP hands on what it does not have, and FSDP2 makes the model's own class a sharded one: neither hides anything
SIGNATURES = (
    Signature(
        r"AttributeError: '(?P<wrapper>DistributedDataParallel|DataParallel)' object has no attribute "
        r"'(?P<attribute>[A-Za-z]\w{0,80})'",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"AttributeError: '(?P<wrapper>DeepSpeedEngine)' object has no attribute '(?P<attribute>\w{1,80})'",
        symptom_of=_OTHERS,
    ),
)

MESSAGE = Message(
    en=Words(
        "`{attribute}` is asked of the wrapper `{wrapper}`, and it belongs to the model inside of it",
        "With several processes the model is wrapped, and the wrapper passes only `forward` on. The line was "
        "written for one GPU, where there is no wrapper.",
        "Unwrap first: `accelerator.unwrap_model(model).{attribute}` with Accelerate or a Trainer, else "
        "`model.module.{attribute}` (`getattr(model, 'module', model).{attribute}` serves both cases). Where a "
        "library's own line fails, upgrade the library, or start one process.",
    ),
    zh=Words(
        "向包装器 `{wrapper}` 请求 `{attribute}`,而它属于被包装的模型",
        "多进程时模型被包装,而包装器只转发 `forward`。该行是为单 GPU 编写的,那时没有包装器。",
        "先解包:使用 Accelerate 或 Trainer 时 `accelerator.unwrap_model(model).{attribute}`,否则 "
        "`model.module.{attribute}`(`getattr(model, 'module', model).{attribute}` 两种情形都适用)。若出错的是库自己"
        "的代码,请升级该库,或只启动一个进程。",
    ),
)
ENGINE = Message(
    en=Words(
        "neither DeepSpeed's engine nor the model inside of it has `{attribute}`",
        "The engine hands on every attribute that the model has. So the model is of another class than the code "
        "expects (no value head, no adapter, plain instead of a trainer's own class), or the code was written for "
        "another release of DeepSpeed.",
        "Print `type(model.module)` and look whether that class has `{attribute}`; it may be misspelt, or one level "
        "deeper below an adapter (`model.module.base_model.model`). Where a library's own line fails, take the "
        "DeepSpeed that it names, or upgrade both: `pip install -U deepspeed`.",
    ),
    zh=Words(
        "DeepSpeed 引擎及其中的模型都没有 `{attribute}`",
        "引擎会转发模型拥有的所有属性。因此模型的类与代码预期的不同(没有 value head、没有适配器、是普通模型而不是训练框"
        "架自己的类),或代码是为另一版本的 DeepSpeed 编写的。",
        "打印 `type(model.module)`,查看该类是否有 `{attribute}`;名称可能拼错,或在适配器之下更深一层"
        "(`model.module.base_model.model`)。若出错的是库自己的代码,使用它指定的 DeepSpeed,或一起升级:`pip install -U "
        "deepspeed`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """DataParallel hides the model; DeepSpeed's engine does not."""
    groups = hits.first.groups
    hidden = hits.first.signature == 0
    return found(
        PROBLEM, MESSAGE if hidden else ENGINE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if hidden else LIKELY, wrapper=groups["wrapper"], attribute=groups["attribute"],
    )  # fmt: skip
