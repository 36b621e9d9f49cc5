"""The logs show only what followed from a failure, not the failure itself.

## What it means
Processes say that they lost another one, or a launcher says how one ended, and the process that failed first left no
word in what was given.
## What it does to a run
The run ended; what is seen (closed connections, time-outs, exit codes) are consequences.
## What to do
Give the log of the process that is named, or run once more so that it leaves one (`torchrun --log-dir logs
--redirects 3`, `RAY_DEDUP_LOGS=0`, `PYTHONFAULTHANDLER=1`); ask the kernel log about signals.
## How it is found
Every exception in the logs is of a kind by which one process reports another's death, or there is none and an exit code
or signal is reported.
## References
https://pytorch.org/docs/stable/elastic/run.html
https://docs.ray.io/en/latest/ray-observability/user-guides/configure-logging.html
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.ranks import ranks_text
from doctor.core.unknown import INTERRUPT, Unknown

PROBLEM = Problem(id="UNK002", name="only-consequences", severity=WARNING, since="0.1")

ENDED = Message(
    en=Words(
        "{who} ended by {how} without a traceback{others}",
        "{meaning} Why it ended stands in no log that was given.{waiting}",
        "{first} Then run once more with `PYTHONFAULTHANDLER=1` and a log of its own for every rank "
        "(`torchrun --log-dir logs --redirects 3`, `RAY_DEDUP_LOGS=0`).",
    ),
    zh=Words(
        "{who_zh} 以 {how} 结束且没有回溯{others_zh}",
        "{meaning_zh}给出的日志没有说明原因。{waiting_zh}",
        "{first_zh}然后设置 `PYTHONFAULTHANDLER=1` 重跑,并让每个 rank 各写日志"
        "(`torchrun --log-dir logs --redirects 3`,`RAY_DEDUP_LOGS=0`)。",
    ),
)
_LOST_EN = Words(
    "the logs show only processes that lost another one (`{type}`)",
    "These are consequences: a process failed or hung before, and its own words are not in what was given.{waiting}",
    "Give the logs of the ranks that are missing here; the first failure stands there. For a run under Ray set "
    "`RAY_DEDUP_LOGS=0`, under torchrun `--log-dir logs --redirects 3`; for a hang take `py-spy dump` of each rank "
    "and set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000`, so that the flight recorder names the collective.",
)
_LOST_ZH = Words(
    "日志中只有失去同伴的进程(`{type}`)",
    "这些是后果:之前已有进程失败或挂起,而它自己的输出不在给出的日志里。{waiting_zh}",
    "请给出此处缺失的 rank 的日志,最初的失败在那里。Ray 下设置 `RAY_DEDUP_LOGS=0`,torchrun 下使用 "
    "`--log-dir logs --redirects 3`;若是挂起,对每个 rank 执行 `py-spy dump`,并设置 "
    "`TORCH_NCCL_TRACE_BUFFER_SIZE=2000`,让 flight recorder 指出是哪个集合通信。",
)
LOST = Message(en=_LOST_EN, zh=_LOST_ZH)

#: the same where not even those that lost it say anything
GONE = Message(
    en=replace(_LOST_EN, headline="the logs tell that a process died, and not why"),
    zh=replace(_LOST_ZH, headline="日志只说有进程死亡,没有说明原因"),
)

INTERRUPTED = Message(
    en=Words(
        "the run was interrupted{place}, and the logs show no failure before",
        "Somebody pressed Ctrl-C, stopped the cell of a notebook, or a program passed SIGINT on.",
        "If nobody meant to stop it, start it away from the terminal: inside `tmux`, with `setsid nohup ... &`, or as "
        "a job of a scheduler. If it was stopped because nothing moved, run it once more and take "
        "`py-spy dump --pid PID` of every rank before it is stopped.",
    ),
    zh=Words(
        "运行被中断{place_zh},日志中此前没有失败",
        "有人按了 Ctrl-C、停止了 notebook 单元格,或有程序转发了 SIGINT。",
        "若并非有意停止,请脱离终端启动:在 `tmux` 中,用 `setsid nohup ... &`,或作为调度器作业。"
        "若因为毫无进展才停止,请重跑一次,并在停止之前对每个 rank 执行 `py-spy dump --pid PID`。",
    ),
)

#: https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/entrypoints/openai/api_server.py (`signal_handler`)
TERMINATED = Message(
    en=Words(
        "vLLM's server was told to end by SIGTERM{place}, and the logs show no failure before",
        "While it starts, the server turns SIGTERM into `KeyboardInterrupt: terminated`. What sent it is not in its "
        "log: a script that gave up waiting for the port, a scheduler, a container's limit, or a person.",
        "Look into the log of what started it, and give it more time: loading weights and capturing graphs takes "
        "minutes for a large model.",
    ),
    zh=Words(
        "vLLM 服务器被 SIGTERM 要求结束{place_zh},日志中此前没有失败",
        "启动期间,服务器会把 SIGTERM 变成 `KeyboardInterrupt: terminated`。其日志不会说明是谁发送的:"
        "等待端口超时的脚本、调度器、容器限制,或某个人。",
        "查看启动它的程序的日志,并给它更多时间:大模型加载权重和捕获图需要几分钟。",
    ),
)

#: what a signal says about who sent it, and where to look
#: https://man7.org/linux/man-pages/man7/signal.7.html
_SIGNALS = {
    "SIGKILL": (
        (
            "Somebody else killed it: most often the kernel when memory ran out, a container or scheduler limit, or "
            "a person."
        ),
        "它被外部杀死:多半是内存耗尽时的内核、容器或调度器的限制,或人为。",
        (
            "Ask the kernel: `dmesg -T | grep -i -E 'killed process|oom'`, and the container or scheduler for its "
            "memory limit."
        ),
        "查看内核日志:`dmesg -T | grep -i -E 'killed process|oom'`,以及容器或调度器的内存上限。",
    ),
    "SIGSEGV": (
        "Native code touched memory it does not own: a broken or mismatching binary, less often a faulty driver.",
        "原生代码访问了非法内存:二进制损坏或不匹配,少数情况是驱动故障。",
        (
            "Set `PYTHONFAULTHANDLER=1` to see the Python line, and `doctor check --deep` to try the compiled "
            "packages one by one."
        ),
        "设置 `PYTHONFAULTHANDLER=1` 查看对应的 Python 行,并用 `doctor check --deep` 逐一试验编译型包。",
    ),
    "SIGABRT": (
        "Native code gave up on purpose; what it said stands on stderr just before.",
        "原生代码主动中止;其说明在此之前的 stderr 中。",
        "Look for `terminate called` or an assertion just before the end of that rank's stderr.",
        "在该 rank 的 stderr 末尾之前查找 `terminate called` 或断言。",
    ),
    "SIGBUS": (
        "A mapped page could not be had: most often /dev/shm is full.",
        "映射的页无法取得:多半是 /dev/shm 已满。",
        "Look at `df -h /dev/shm`; in a container raise it with `--shm-size` or use `--ipc=host`.",
        "查看 `df -h /dev/shm`;容器中用 `--shm-size` 增大或使用 `--ipc=host`。",
    ),
    "SIGFPE": (
        (
            "Native code divided by zero or hit an arithmetic trap; in training most often a cuBLAS older than the GPU "
            "(12.1 on an H20)."
        ),
        "原生代码除以零或触发算术异常;训练中多为 cuBLAS 比 GPU 旧(H20 上的 12.1)。",
        (
            "Set `PYTHONFAULTHANDLER=1` to see the Python line that called it; a matrix product there: `pip install "
            "nvidia-cublas-cu12==12.4.5.8`, or torch 2.5 and newer."
        ),
        (
            "设置 `PYTHONFAULTHANDLER=1` 查看调用它的 Python 行;若是矩阵乘:`pip install "
            "nvidia-cublas-cu12==12.4.5.8`,或 torch 2.5 及以上。"
        ),
    ),
    "SIGTERM": (
        "Somebody asked it to end: a scheduler at its time limit, a pre-emption, a launcher, or a person.",
        "有人要求它结束:调度器到达时限、被抢占、启动器或人为。",
        (
            "Ask the scheduler: `sacct -j JOBID -o State,ExitCode,Elapsed,Timelimit` under Slurm, `kubectl describe "
            "pod` under Kubernetes."
        ),
        (
            "询问调度器:Slurm 用 `sacct -j JOBID -o State,ExitCode,Elapsed,Timelimit`,Kubernetes 用 `kubectl "
            "describe pod`。"
        ),
    ),
}
_BY_ITSELF = (
    "It ended by itself, through `sys.exit`, `os._exit` or a native library.",
    "它自行结束:`sys.exit`、`os._exit` 或原生库。",
    "Look for exits in your own code and at the last lines of that rank.",
    "检查自己代码中的退出语句和该 rank 的最后几行。",
)


def answer(unknown: Unknown) -> Finding | None:
    """Say who is missing, and how it ended where that is told."""
    if unknown.kind != "consequences":
        return None
    waiting = ranks_text(unknown.waiting)
    absent = ranks_text(unknown.absent)
    sentence = (
        f" Ranks {waiting} waited; ranks {absent} left no word."
        if waiting and absent
        else f" Ranks {waiting} waited."
        if waiting
        else ""
    )
    sentence_zh = f"rank {waiting} 在等待;" if waiting else ""
    sentence_zh += f"rank {absent} 没有留下输出。" if absent else ""
    values: dict[str, Any] = {"waiting": sentence, "waiting_zh": sentence_zh}
    if unknown.exit_code is None and not unknown.signal:
        if unknown.type == INTERRUPT:
            return _interrupted(unknown)
        return found(
            PROBLEM,
            LOST if unknown.type else GONE,
            where=unknown.where,
            evidence=unknown.evidence,
            confidence=LIKELY,
            type=unknown.type,
            **values,
        )
    if unknown.type or waiting:
        values |= {"others": "; the others only lost it", "others_zh": ";其他进程只是失去了它"}
    else:
        values |= {"others": "", "others_zh": ""}
    meaning, meaning_zh, first, first_zh = _SIGNALS.get(unknown.signal, _BY_ITSELF)
    return found(
        PROBLEM, ENDED, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY,
        who=unknown.process or "a process", who_zh=unknown.process or "某进程",
        how=f"`{unknown.signal}`" if unknown.signal else f"`exit {unknown.exit_code}`",
        meaning=meaning, meaning_zh=meaning_zh, first=first, first_zh=first_zh, **values,
    )  # fmt: skip


def _interrupted(unknown: Unknown) -> Finding:
    """All that was printed is that somebody stopped it."""
    place = f" in `{unknown.raised_in}`" if unknown.raised_in else ""
    place_zh = f"(位于 `{unknown.raised_in}`)" if unknown.raised_in else ""
    return found(
        PROBLEM, TERMINATED if unknown.message == "terminated" else INTERRUPTED, where=unknown.where,
        evidence=unknown.evidence, confidence=LIKELY, place=place, place_zh=place_zh,
    )  # fmt: skip
