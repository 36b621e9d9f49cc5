"""The vLLM server does not answer any more while a training waits for it.

## What it means
In server mode the trainer sends each generation to a vLLM server of its own. The trainer makes no step any more, and
the server, asked whether it is well, refuses the connection, says that its engine is dead, or does not answer.
## What it does to a run
The trainer waits: for its client's time-out at best, for ever in a weight sync over NCCL. All other ranks wait with it.
## What to do
Look at the end of the server's own log: the cause stands there, not in the trainer's. Then restart both from the last
checkpoint, for the group over which weights are sent cannot be joined again.
## How it is found
During the run: when no step was made for half the time after which a run counts as stuck, `/health` of the server is
asked, several times.
## References
https://docs.vllm.ai/en/latest/usage/troubleshooting/
https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/entrypoints/openai/api_server.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem

PROBLEM = Problem(id="VLL071", name="server-dead-while-training", severity=ERROR, since="0.1")

_REMEDY = (
    "Look at the end of the server's own log for the cause, then restart server and training from the last checkpoint: "
    "the group over which weights are sent cannot be joined again."
)
_REMEDY_ZH = "在服务器自己的日志末尾查找原因,然后从最近的检查点重启服务器和训练:用于发送权重的通信组无法重新加入。"

GONE = Message(
    en=Words(
        "the vLLM server at {url} is gone while the training waits for it",
        "It refuses connections, so its process has ended. The trainer waits for an answer that does not come, "
        "and all other ranks wait with it.",
        _REMEDY,
    ),
    zh=Words(
        "训练在等待 {url} 的 vLLM 服务器,而它已经不在了",
        "它拒绝连接,说明其进程已经结束。训练器在等待不会到来的应答,其他 rank 也随之等待。",
        _REMEDY_ZH,
    ),
)
SICK = Message(
    en=Words(
        "the vLLM server at {url} says that it is not well (HTTP {status})",
        "Its process lives and its engine does not: `/health` answers so once the engine is dead. The trainer "
        "waits for completions that nobody makes any more.",
        _REMEDY,
    ),
    zh=Words(
        "{url} 的 vLLM 服务器报告自身不正常(HTTP {status})",
        "它的进程还在,而引擎已经失效:引擎死亡后 `/health` 才会这样应答。训练器在等待再也不会生成的 completion。",
        _REMEDY_ZH,
    ),
)
SILENT = Message(
    en=Words(
        "the vLLM server at {url} takes connections and does not answer, for {seconds} s",
        "It hangs, or is so busy that it cannot even say that it is well: a collective of its workers, a weight sync "
        "whose other side is gone, or a machine without memory.",
        "Take `py-spy dump` of the server's processes while it hangs, and look at the end of its log. Then restart "
        "server and training from the last checkpoint.",
    ),
    zh=Words(
        "{url} 的 vLLM 服务器接受连接但 {seconds} 秒内没有应答",
        "它挂起了,或忙到连自身状态都无法报告:worker 之间的集合通信、对端已经消失的权重同步,或机器内存耗尽。",
        "在它挂起时对服务器的各个进程执行 `py-spy dump`,并查看其日志末尾。然后从最近的检查点重启服务器和训练。",
    ),
)


def not_answering(url: str, status: int | None, seconds: float, *, refused: bool) -> Finding:
    """What the server's silence means.

    Args:
        url: of the server.
        status: HTTP status that it answered with; None where it did not answer.
        seconds: for how long it was asked.
        refused: nobody listens there any more.

    """
    message = GONE if refused else SILENT if status is None else SICK
    answer = "connection refused" if refused else "no answer" if status is None else f"HTTP {status}"
    return found(
        PROBLEM, message, confidence=LIKELY if message is SILENT else CONFIRMED,
        evidence=(Evidence(f"{url}/health", answer),), url=url, status=status, seconds=f"{seconds:.0f}",
    )  # fmt: skip
