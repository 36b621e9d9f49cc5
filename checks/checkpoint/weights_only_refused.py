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
https://github.com/pytorch/pytorch/issues/150998
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
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
    # the bytes that no pickle holds at this place: the file is something else
    Signature(r"WeightsUnpickler error: Unsupported operand (?P<operand>\d{1,3})\b", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`torch.load` refused {type}: torch 2.6 and newer load weights only",
        "The file holds Python objects beside tensors; loading those can run code, so it must be "
        "allowed. A Trainer's `rng_state.pth` (numpy's state) meets this with a Transformers that is "
        "older than torch 2.6.",
        "Upgrade what loads it, `pip install -U transformers accelerate deepspeed`; or, only for a file "
        "that you made, set `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1` or pass `weights_only=False`. For a "
        "resumed run moving `rng_state*.pth` out of the checkpoint also helps: only the random state is "
        "lost.",
    ),
    zh=Words(
        "`torch.load` 拒绝了文件中的 {type}:torch 2.6 及以上默认只加载权重",
        "文件中除张量外还有 Python 对象;加载它们可能执行代码,因此必须显式允许。Transformers 早于 torch "
        "2.6 时,Trainer 的 `rng_state.pth`(numpy 的状态)会遇到此问题。",
        "升级加载它的库:`pip install -U transformers accelerate deepspeed`;或仅对自己生成的文件设置 "
        "`TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1` 或传入 `weights_only=False`。恢复训练时,把检查点中的 "
        "`rng_state*.pth` 移走也可以:只会丢失随机状态。",
    ),
)

OTHER_FILE = Message(
    en=Words(
        "the file given to `torch.load` is no file of `torch.save`: it begins with text ({operand})",
        "What torch says about weights alone is a guess: byte {operand} stands where a pickle cannot have it. The text "
        "of a Git LFS pointer begins with 118 (`v`), an error page or XML with 60 (`<`), JSON with 123; 10 is a line "
        "end. A download that was cut off or a mirror's page looks so. `weights_only=False` does not help.",
        "Look at it: `ls -l FILE; head -c 200 FILE`. Fetch it again: `git lfs install && git lfs pull`, or `hf "
        "download REPO --local-dir DIR --force-download`.",
    ),
    zh=Words(
        "交给 `torch.load` 的文件不是 `torch.save` 写出的:它以文本开头({operand})",
        "torch 关于仅加载权重的提示只是猜测:字节 {operand} 不可能出现在 pickle 的该位置。Git LFS 指针的文本以 "
        "118(`v`)开头,错误页面或 XML 以 60(`<`)开头,JSON 以 123 开头;10 是换行。下载中断或镜像返回的页面就是这样。设置 "
        "`weights_only=False` 无济于事。",
        "查看文件:`ls -l FILE; head -c 200 FILE`。重新获取:`git lfs install && git lfs pull`,或 `hf download REPO "
        "--local-dir DIR --force-download`。",
    ),
)

#: what text begins with, and no pickle of torch: a line end, `<`, `v` of "version", `{`
_TEXT = frozenset({"10", "60", "118", "123"})


def explain(hits: Hits) -> Finding | None:
    """Name the type where a line does; a file that is text was never refused for its types."""
    operand = hits.get("operand")
    if operand in _TEXT and not hits.get("type"):
        return found(PROBLEM, OTHER_FILE, where=hits.where(), evidence=hits.evidence(), operand=operand)
    name = hits.get("type")
    shown = f"`{name}`" if name else "an object"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), type=shown,
        confidence=LIKELY if operand else CONFIRMED,
    )  # fmt: skip
