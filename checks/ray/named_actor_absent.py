"""An actor of Ray is looked up by name and is not there.

## What it means
Parts of a run find each other by the names of actors: a buffer, a synchronizer, a register of workers. The one that is
looked up was never made, has died, or lives in another name space of the cluster.
## What it does to a run
The process that looks it up raises.
## What to do
Look for the death of that actor first; then compare name and name space.
## How it is found
In a log, by Ray's ValueError; a warning of the same words while a library waits is none.
## References
https://docs.ray.io/en/latest/ray-core/actors/named-actors.html
https://github.com/RLinf/RLinf/issues/237
https://github.com/verl-project/verl/issues/1502
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY027", name="named-actor-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Failed to look up actor with name '(?P<name>[^'\n]{1,160})'",
        symptom_of=("*",),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the Ray actor `{name}` is looked up and does not exist",
        "Its maker failed or has not run yet, the actor died (an exception in its constructor, no memory, its"
        " owner ended: an actor that is not detached dies with the process that made it), or the name space "
        "differs: without `namespace=` each `ray.init` gets one of its own.",
        "Find the first error of that actor: `ray list actors --detail`, or its file in the session's logs "
        "folder. Give the same `namespace` to every `ray.init` and `ray.get_actor`, make it with "
        '`lifetime="detached"` where it is to outlive its maker, and see that its maker runs first.',
    ),
    zh=Words(
        "查找的 Ray actor `{name}` 不存在",
        "创建者失败或尚未运行,actor 已死亡(构造函数异常、内存不足,或所有者退出:非 detached 的 actor "
        "会随创建它的进程一同结束),或命名空间不同:不写 `namespace=` 时每次 `ray.init` 都有各自的命名"
        "空间。",
        "先找该 actor 的第一个错误:`ray list actors --detail`,或会话日志目录中它的文件。让每个 `ray.i"
        "nit` 与 `ray.get_actor` 使用相同的 `namespace`;需要比创建者存活更久时以 "
        '`lifetime="detached"` 创建;并确保创建者先运行。',
    ),
)
