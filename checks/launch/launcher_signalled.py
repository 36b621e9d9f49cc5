"""Somebody sent the launcher a signal.

## What it means
torchrun (and accelerate launch, which uses it) ends its workers when it gets a signal itself: SIGHUP when the
terminal or ssh session that started it closes, SIGINT for Ctrl-C, SIGTERM from a scheduler, a container
runtime or `kill`.
## What it does to a run
All ranks are ended; what they print afterwards only follows.
## What to do
Start it so that it outlives the terminal, or look up who ended the job.
## How it is found
In a log: by the exception of the elastic agent, where nothing else failed before.
## References
https://docs.pytorch.org/docs/stable/elastic/run.html
https://man7.org/linux/man-pages/man7/signal.7.html
https://github.com/pytorch/pytorch/issues/76894
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH024", name="launcher-signalled", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"SignalException: Process (?P<pid>\d{1,9}) got signal: (?P<signal>1|2|15)\b",
        symptom_of=("MEM017", "LCH018", "LCH021", "LCH023", "NCC011"),
    ),
    Signature(r"Received (?P<signal>1|2|15) death signal, shutting down workers", kind="warning", symptom_of=("*",)),
    # DeepSpeed's launcher, which says so only where no worker had failed before
    Signature(r"(?:^|sigkill_handler\] )Main process received (?P<deepspeed>SIGINT|SIGTERM), exiting", kind="warning"),
)


HANGUP = Message(
    en=Words(
        "the launcher got SIGHUP: the terminal or ssh session that started it was closed",
        "It ended all ranks; nothing failed in the training itself. `nohup` alone does not help, "
        "for the launcher installs a handler of its own.",
        "Start it inside `tmux` or `screen`, with `setsid nohup ... &`, or as a job of a "
        "scheduler, and resume from the last checkpoint.",
    ),
    zh=Words(
        "启动器收到 SIGHUP:启动它的终端或 ssh 会话已关闭",
        "它结束了所有 rank;训练本身没有失败。仅用 `nohup` 无效,因为启动器会安装自己的处理函数。",
        "在 `tmux` 或 `screen` 中启动,或用 `setsid nohup ... &`,或作为调度器作业运行,并从最近的检查点恢复。",
    ),
)

INTERRUPT = Message(
    en=Words(
        "the launcher got SIGINT, as from Ctrl-C",
        "Somebody pressed Ctrl-C in the terminal (or a notebook or IDE stopped the cell), and "
        "the launcher ended all ranks.",
        "If nobody meant to stop it, start it away from the terminal: inside `tmux`, with "
        "`setsid nohup ... &`, or as a job of a scheduler.",
    ),
    zh=Words(
        "启动器收到 SIGINT,如同按下 Ctrl-C",
        "有人在终端按了 Ctrl-C(或 notebook、IDE 停止了单元格),启动器结束了所有 rank。",
        "若并非有意停止,请脱离终端启动:在 `tmux` 中,用 `setsid nohup ... &`,或作为调度器作业。",
    ),
)

TERMINATE = Message(
    en=Words(
        "the launcher got SIGTERM: a scheduler, a container or a person asked it to end",
        "Time limit, pre-emption, a node being drained, a memory limit of the scheduler, or "
        "`kill`; the launcher then ended all ranks. So does a program that started it beside others (an "
        "inference server, an orchestrator, environments) when one of those has failed.",
        "Ask who sent it: `sacct -j JOBID -o State,ExitCode,Elapsed,Timelimit` under Slurm, "
        "`kubectl describe pod` under Kubernetes; save checkpoints more often or ask for more "
        "time. Where several programs were started together, look for the first failure in the logs of the others.",
    ),
    zh=Words(
        "启动器收到 SIGTERM:调度器、容器或某人要求它结束",
        "到达时限、被抢占、节点被排空、调度器的内存上限或 `kill`;随后启动器结束了所有 rank。把它与其他程序(推理服务"
        "、编排程序、环境)一起启动的程序,在其中之一失败时也会这样做。",
        "查明是谁发送的:Slurm 用 `sacct -j JOBID -o State,ExitCode,Elapsed,Timelimit`,Kubernetes "
        "用 `kubectl describe pod`;更频繁地保存检查点或申请更长时间。若同时启动了多个程序,请在其他程序的日志中查找"
        "最早的失败。",
    ),
)


_BY_NAME = {"1": HANGUP, "2": INTERRUPT, "SIGINT": INTERRUPT}


def explain(hits: Hits) -> Finding | None:
    """Each signal has its usual sender."""
    message = _BY_NAME.get(hits.get("signal") or hits.get("deepspeed") or "", TERMINATE)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
