"""An object cannot be sent to another process.

## What it means
Worker processes that are spawned (Windows, macOS, CUDA in the parent, `multiprocessing_context="spawn"`) get
everything pickled: data set, collator, reward function. Lambdas, functions inside functions, open files,
locks, generators and compiled modules cannot be.
## What it does to a run
The first worker is never started: AttributeError, PicklingError or TypeError.
## What to do
Use no worker processes, or things that can be pickled.
## How it is found
In a log: by pickle's exception.
## References
https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled
https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT026", name="object-not-picklable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:AttributeError|PicklingError|pickle\.PicklingError): Can't (?:get|pickle) local "
        r"object '?(?P<what>[\w.<>]{1,160})"
    ),
    Signature(
        r"PicklingError: Can't pickle (?P<what>[^\n]{1,120}?): (?:it's not (?:found as|the same "
        r"object as)|attribute lookup|import of module)"
    ),
    Signature(
        r"TypeError: cannot pickle '(?P<what>[\w.]{1,80})' object",
        symptom_of=("HUB", "MEM", "HST", "CKP", "TOR", "TRK"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{what}` cannot be pickled for a worker process",
        "A worker process of the data loader (or of `map(num_proc=...)`, Ray, a process pool) is spawned and gets "
        "its objects pickled; functions inside functions, lambdas, locks, files, generators and some hooks cannot "
        "be.",
        "Set `dataloader_num_workers=0` (and `num_proc=None` in `map`), or move the function to the top level of a "
        "module and make the object in the worker; on Linux the `fork` start method avoids pickling. Where it comes "
        "from a library's own hook, upgrade that library.",
    ),
    zh=Words(
        "`{what}` 无法序列化(pickle)给工作进程",
        "数据加载器(或 `map(num_proc=...)`、Ray、进程池)的工作进程以 spawn 方式启动,对象需要 pickle;函数内的函数、"
        "lambda、锁、文件、生成器和某些钩子无法 pickle。",
        "设置 `dataloader_num_workers=0`(`map` 中 `num_proc=None`),或把函数移到模块顶层,并在工作进程中创建该对象;"
        "Linux 上用 `fork` 启动方式可避免 pickle。若来自某个库自己的钩子,升级该库。",
    ),
)

SENT = Message(
    en=Words(
        "a process could not hand `{what}` to another one, most often inside an exception",
        "What goes through a queue between processes is pickled by a thread beside the program. Exceptions of "
        "network clients hold connections, and those cannot be pickled: the error that really ended the work is the "
        "one that was to be handed over, and it is lost or told further below.",
        "Look for the other error around this one (a refused connection, a download, a time-out) and mend that. "
        "Where the program itself sends such an object, catch the exception in the child and send its text: "
        "`queue.put(repr(error))`.",
    ),
    zh=Words(
        "一个进程无法把 `{what}` 交给另一个进程,多数情况下它在某个异常之中",
        "进程间队列中的内容由旁路线程 pickle。网络客户端的异常带有连接对象,无法 pickle:真正结束工作的是那个要被传递"
        "的异常,它已丢失或在下文给出。",
        "在附近查找另一个错误(连接被拒、下载、超时)并修复它。若是程序自己发送这样的对象,请在子进程中捕获异常并发送其"
        "文本:`queue.put(repr(error))`。",
    ),
)
SAVED = Message(
    en=Words(
        "`{what}` cannot be saved: it cannot be pickled",
        "`torch.save` pickles what is no tensor. Functions and classes made inside of functions, lambdas, locks, "
        "open files and classes that are not found again by their module's name cannot be.",
        "Save the state instead of the object: `model.state_dict()`, plain numbers and text; move the class to a "
        "module of its own, and take loggers, locks and lambdas out of what is saved.",
    ),
    zh=Words(
        "`{what}` 无法保存:它不能被 pickle",
        "`torch.save` 会对非张量的内容做 pickle。函数内部定义的函数和类、lambda、锁、打开的文件,以及无法按模块名再找"
        "到的类都不行。",
        "保存状态而不是对象:`model.state_dict()`、普通数字和文本;把类移到单独的模块中,并从要保存的内容中去掉日志器、"
        "锁和 lambda。",
    ),
)
COPIED = Message(
    en=Words(
        "`{what}` cannot be copied with `copy.deepcopy`",
        "Copying goes the way of pickling. Process groups, locks, open files, CUDA streams and generators that the "
        "object holds have no copy; models behind DDP, FSDP or DeepSpeed hold process groups.",
        "Copy before the model is wrapped (`accelerator.prepare`, DDP, FSDP, `deepspeed.initialize`), or build the "
        "second one anew and load the weights: `other.load_state_dict(model.state_dict())`. A class of your own can "
        "leave such members out in `__deepcopy__` or `__getstate__`.",
    ),
    zh=Words(
        "`{what}` 无法用 `copy.deepcopy` 复制",
        "复制与 pickle 走同一途径。对象中的进程组、锁、打开的文件、CUDA 流和生成器没有副本;经 DDP、FSDP 或 DeepSpeed "
        "包装的模型含有进程组。",
        "在包装模型之前复制(`accelerator.prepare`、DDP、FSDP、`deepspeed.initialize`),或重新构建第二个并加载权重:"
        "`other.load_state_dict(model.state_dict())`。自己的类可在 `__deepcopy__` 或 `__getstate__` 中略去这些成员。",
    ),
)
_SAVING = re.compile(r"[\\/]torch[\\/]serialization\.py:(?:save|_save|_legacy_save)$")
_FEEDING = re.compile(r"multiprocessing[\\/]queues\.py:_feed$")
_COPYING = re.compile(r"(?:^|[\\/])copy\.py:\w{1,40}$")
_HANDED = re.compile(r"[\\/](?:multiprocess(?:ing)?|concurrent|joblib|ray|torch[\\/]utils[\\/]data)[\\/]|cloudpickle")


def explain(hits: Hits) -> Finding:
    """What a queue's own thread could not send is mostly an exception: not the cause."""
    frames = hits.first.frames
    sent = any(_FEEDING.search(frame) for frame in frames)
    handed = any(_HANDED.search(frame) for frame in frames)
    if any(_SAVING.search(frame) for frame in frames):
        message, sure = SAVED, True
    elif any(_COPYING.search(frame) for frame in frames[-4:]):
        message, sure = COPIED, True
    else:
        message, sure = (SENT, False) if sent else (LOG_MESSAGE, handed)
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED if sure else LIKELY,
        what=hits.get("what"),
    )  # fmt: skip
