"""Judges only-consequences (UNK002), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.base.ranks import ranks_text
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.unrecognised import INTERRUPT, Unknown
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
ENDED = TOML["ended"]
AT_EXIT = TOML["at_exit"]
LOST = TOML["lost"]
GONE = TOML["gone"]
INTERRUPTED = TOML["interrupted"]
TERMINATED = TOML["terminated"]


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
            "nvidia-cublas-cu12==12.4.5.8`, or a torch that was built for CUDA 12.4 or newer."
        ),
        (
            "设置 `PYTHONFAULTHANDLER=1` 查看调用它的 Python 行;若是矩阵乘:`pip install "
            "nvidia-cublas-cu12==12.4.5.8`,或面向 CUDA 12.4 及以上构建的 torch。"
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
    if unknown.kind != "consequences" or unknown.unrecorded is not None:
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
        PROBLEM, AT_EXIT if unknown.after_end else ENDED, where=unknown.where, evidence=unknown.evidence,
        confidence=LIKELY,
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
