"""An actor of Ray was ended by the program itself, and called afterwards.

## What it means
`ray.kill`, `exit_actor`, the end of the program that owns the actor, and the loss of the last handle all end it. Ray
tells which.
## What it does to a run
The next call raises ActorDiedError, although nothing failed in the actor.
## What to do
Keep the actor as long as it is called, or make it again.
## How it is found
In a log: by Ray's words for the reason of the death, where nothing else failed before.
## References
https://docs.ray.io/en/latest/ray-core/actors/terminating-actors.html
https://github.com/ray-project/ray/blob/ray-2.40.0/src/ray/gcs/gcs_server/gcs_actor_manager.cc
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY040", name="ray-actor-ended-on-purpose", severity=ERROR, since="0.1")

KILLED = Message(
    en=Words(
        "the actor that was called had been ended with `ray.kill`",
        "The program itself (or its framework, at the end or when it replaces a worker that it holds for broken) "
        "killed the actor, and something called it afterwards through an old handle.",
        "Where that was after another failure, that one is the cause: look above. Otherwise do not keep the "
        "handle: remove it from the pool when the actor is killed, make a new one (`Worker.remote(...)`), or kill "
        "only after the last `ray.get`. `max_restarts=-1` with `ray.kill(actor, no_restart=False)` brings it back.",
    ),
    zh=Words(
        "被调用的 actor 已被 `ray.kill` 结束",
        "程序自身(或框架在收尾、替换被认为损坏的 worker 时)结束了该 actor,之后又有代码通过旧句柄调用它。",
        "若此前有别的失败,那才是原因:请看上文。否则不要保留句柄:actor 被结束时将其移出池子,重新创建"
        "(`Worker.remote(...)`),或在最后一次 `ray.get` 之后再结束。`max_restarts=-1` 配合 `ray.kill(actor, "
        "no_restart=False)` 可使其重启。",
    ),
)
OWNER = Message(
    en=Words(
        "the actor that was called had ended with its owner, or with its last handle",
        "An actor that is not detached lives as long as the process that made it, and as somebody holds a handle "
        "to it.",
        "Keep the handle in a variable that lives on, make the actor in the main process, or make it detached: "
        '`Worker.options(name="worker", lifetime="detached").remote()`. If the owner died of an error, that '
        "error is the cause: read its log.",
    ),
    zh=Words(
        "被调用的 actor 已随其所有者或最后一个句柄一起结束",
        "非 detached 的 actor 只存活到创建它的进程结束,且需有人持有句柄。",
        '把句柄保存在持续存在的变量中,在主进程创建 actor,或设为 detached:`Worker.options(name="worker", '
        'lifetime="detached").remote()`。若所有者因错误退出,那个错误才是原因:查看其日志。',
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"The actor is dead because it was killed by `ray\.kill`", symptom_of=("*",)),
        KILLED,
        LIKELY,
    ),
    (
        Signature(
            r"The actor is dead because (?:all references to the actor were removed|its owner has died)",
            symptom_of=("*",),
        ),
        OWNER,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
