"""The data loader ran out of file descriptors.

## What it means
Each tensor that a loader worker sends pins one file descriptor for as long as it lives. Keeping many
batches, many workers, or a low `ulimit -n` (1024 on many systems) uses them up.
## What it does to a run
The loader, or anything else that opens a file, fails in the middle of the run.
## What to do
Raise the limit, or share tensors through the file system, or copy what is kept from a batch.
## How it is found
In a log: by the exception of the loader.
## References
https://pytorch.org/docs/stable/multiprocessing.html#file-descriptor-file-descriptor
https://github.com/pytorch/pytorch/issues/973
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT022", name="loader-open-files", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Too many open files\. Communication with the workers is no longer possible"),
    Signature(r"RuntimeError: received 0 items of ancdata"),
    Signature(
        r"RuntimeError: unable to open shared memory object <(?P<object>/torch_\w{1,60})> in read-write mode"
        r"(?:: Too many open files|$)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the loader ran out of file descriptors (the limit on open files, `ulimit -n`)",
        "Every tensor that comes from a worker process through shared memory holds a file descriptor while it "
        "lives; batches that are kept in a list, or many workers, reach the limit.",
        "Do not keep tensors of past batches (`.clone()` what you keep), share through the file system "
        'with `set_sharing_strategy("file_system")` of `torch.multiprocessing` at the start of the '
        "script, or raise the limit: `ulimit -n 65535`.",
    ),
    zh=Words(
        "数据加载器用尽了文件描述符(打开文件数上限 `ulimit -n`)",
        "来自工作进程的每个张量在存活期间都占用一个文件描述符;把批次保存在列表中或工作进程很多时就会达到上限。",
        "不要保留过去批次的张量(需要保留的先 `.clone()`),在脚本开头用 `torch.multiprocessing` 的 "
        '`set_sharing_strategy("file_system")` 改为经文件系统共享,或提高上限:`ulimit -n 65535`。',
    ),
)
_WITHOUT_REASON = 2  # position of a pattern; older torch does not say why the object could not be opened


def explain(hits: Hits) -> Finding:
    """Certain where the limit is named."""
    first = hits.first
    unsure = first.signature == _WITHOUT_REASON and "Too many open files" not in first.text
    confidence = LIKELY if unsure else CONFIRMED
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=confidence,
        commands=("ulimit -n 65535",),
    )  # fmt: skip
