"""`torch.load` refuses an object in the file.

## What it means
Since torch 2.6 `torch.load` reads tensors and plain containers only. Checkpoints hold more: numpy's random
state, argparse namespaces, whole models.
## What it does to a run
Resuming or loading raises UnpicklingError.
## What to do
Upgrade the library that loads, or allow the types of a file that you trust.
## How it is found
In a log: by torch's exception; the line names the type.
## References
https://pytorch.org/docs/stable/notes/serialization.html#weights-only
https://docs.python.org/3/library/pickle.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP009", name="weights-only-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"UnpicklingError: Weights only load failed"),
    Signature(
        r"WeightsUnpickler error: Unsupported global: GLOBAL (?P<type>[\w.]{1,120}) was not an"
        r" allowed global",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`torch.load` refused {type}: torch 2.6 and newer load weights only",
        "The file holds Python objects beside tensors; loading those can run code, so it must be "
        "allowed. A Trainer's `rng_state.pth` (numpy's state) meets this with a Transformers that is "
        "older than torch 2.6.",
        "Upgrade what loads it, `pip install -U transformers accelerate deepspeed`; or, only for a file "
        "that you made, set `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1` or pass `weights_only=False`. For a "
        "resumed run deleting `rng_state*.pth` in the checkpoint also helps: only the random state is "
        "lost.",
    ),
    zh=Words(
        "`torch.load` 拒绝了文件中的 {type}:torch 2.6 及以上默认只加载权重",
        "文件中除张量外还有 Python 对象;加载它们可能执行代码,因此必须显式允许。Transformers 早于 torch "
        "2.6 时,Trainer 的 `rng_state.pth`(numpy 的状态)会遇到此问题。",
        "升级加载它的库:`pip install -U transformers accelerate deepspeed`;或仅对自己生成的文件设置 "
        "`TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1` 或传入 `weights_only=False`。恢复训练时,删除检查点中的 "
        "`rng_state*.pth` 也可以:只会丢失随机状态。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the type where a line does."""
    name = hits.get("type")
    shown = f"`{name}`" if name else "an object"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), type=shown)
