"""The run made no step for long before it was ended.

## What it means
Steps came regularly, then none for many times as long as a step takes, and then the run was ended: by a time-out, by a
scheduler, or by hand. Nobody raised an exception of their own. Most often one rank has left the common path (it hangs
in a reward function, a data loader, a download or a lock, or calls a collective that the others do not call) and all
others wait for it; or a vLLM server does not answer.
## What it does to a run
The GPUs are held and often show 100 % utilization, for a kernel that waits counts as busy. Nothing is computed.
## What to do
Take `py-spy dump --pid PID` of every rank while it stands: the rank whose stack differs is the one. Let NCCL keep its
flight recorder. Look first at the rank whose last words are the oldest.
## How it is found
The last progress bar was drawn again much later at the same step, or the stamps of the metric lines end long before
those of the other lines: more than ten steps and ten seconds by the bar, more than five times the longest pause before
and a minute by the stamps. Saving, evaluating and loading after the last step are no standstill. A gap alone is no
proof, so this is never more than likely.

The guard sees it while it lasts: no step for ten times the median step, and at least two minutes. It writes the stacks
of all ranks into the run folder and names the rank that is outside of the collective in which the others wait.
## References
https://github.com/benfred/py-spy
https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
https://github.com/tqdm/tqdm
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.standing import Standstill
from doctor.core.stillness import Stillness

PROBLEM = Problem(id="LCH023", name="run-stood-still", severity=ERROR, since="0.1")

_WHY = (
    "A step took {usual} before. Nobody raised an exception of their own, so somebody waited: most often for one rank "
    "that hangs in a reward function, a data loader or a collective that the others do not call, or for a vLLM "
    "server. {behind}"
)
_WHY_ZH = (
    "此前每步约 {usual_zh}。没有进程自行抛出异常,说明有人在等待:多半是某个 rank 卡在奖励函数、数据加载或其他 rank "
    "没有调用的集合通信里,或 vLLM 服务器没有应答。{behind_zh}"
)
_DO = (
    "Run it again, and while it stands take `py-spy dump` of every rank: the one whose stack differs is the one to "
    "look at. Set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1`, so that the flight recorder names "
    "the collective."
)
_DO_ZH = (
    "重新运行,在停住时对每个 rank 执行 `py-spy dump`:调用栈与众不同的那个就是要查的。设置 "
    "`TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1`,让 flight recorder 指出是哪个集合通信。"
)
AT_STEP = Message(
    en=Words("no step for {seconds} after step {step} of {total}, then the run was ended", _WHY, _DO),
    zh=Words("第 {step} 步(共 {total} 步)之后 {seconds_zh} 没有进展,随后运行被终止", _WHY_ZH, _DO_ZH),
)
MESSAGE = Message(
    en=Words("no step for {seconds} after step {step}, then the run was ended", _WHY, _DO),
    zh=Words("第 {step} 步之后 {seconds_zh} 没有进展,随后运行被终止", _WHY_ZH, _DO_ZH),
)

_NOW = "A step took {usual} before. {who} The stacks of all ranks that answered lie in the run folder."
_NOW_ZH = "此前每步约 {usual_zh}。{who_zh}所有有响应的 rank 的调用栈都保存在运行目录中。"
_LOOK = (
    "Look at the stacks of the ranks: the one that is elsewhere than the others is the one to mend. Where all of them "
    "wait for a server or for a disk, look there. If it is only slow, raise `DOCTOR_GUARD_HANG_AT_LEAST_S`."
)
_LOOK_ZH = (
    "查看各 rank 的调用栈:与其他 rank 位置不同的那个就是要修的。如果都在等服务器或磁盘,就去查那里。"
    "如果只是慢,请调大 `DOCTOR_GUARD_HANG_AT_LEAST_S`。"
)
STANDS = Message(
    en=Words("no step for {seconds} after step {step}", _NOW, _LOOK),
    zh=Words("第 {step} 步之后已有 {seconds_zh} 没有进展", _NOW_ZH, _LOOK_ZH),
)
BEHIND = Message(
    en=Words("no step for {seconds} after step {step}: rank {rank} is in `{at}`", _NOW, _LOOK),
    zh=Words("第 {step} 步之后已有 {seconds_zh} 没有进展:rank {rank} 停在 `{at}`", _NOW_ZH, _LOOK_ZH),
)


def of_standstill(standstill: Standstill) -> Finding:
    """Say where the ranks of a live run stand, and which one is not where the others wait; asked by the guard."""
    first = standstill.first
    quotes = tuple(
        Evidence(each.file or f"rank {each.rank}", f"rank {each.rank} after step {each.step}: {each.at}")
        for each in standstill.standing
    )
    return found(
        PROBLEM, BEHIND if standstill.behind and first.at else STANDS, confidence=LIKELY, evidence=quotes,
        where=Where(rank=first.rank if standstill.behind else None, step=first.step, host=first.host or None),
        seconds=_long(first.seconds), seconds_zh=_long_zh(first.seconds),
        step="?" if first.step is None else first.step,
        usual="an unknown time" if first.usual_s is None else _long(first.usual_s),
        usual_zh="未知时间" if first.usual_s is None else _long_zh(first.usual_s),
        rank=first.rank, at=first.at, who=_who(standstill), who_zh=_who_zh(standstill),
    )  # fmt: skip


def _who(standstill: Standstill) -> str:
    """Sentences about the ranks, each known for certain."""
    behind, waiting = _listed(standstill.behind), standstill.waiting
    told = []
    if behind and waiting:
        told.append(f"All other ranks that answered wait in `{waiting}`, and {behind} is not there.")
    elif behind:
        told.append(f"The last step of {behind} is older than that of the others.")
    elif waiting and len(standstill.standing) > 1:
        told.append(f"All ranks that answered wait in `{waiting}`.")
    if standstill.silent:
        told.append(f"Nothing was heard of {_listed(standstill.silent)}.")
    return " ".join(told)


def _who_zh(standstill: Standstill) -> str:
    behind, waiting = _listed(standstill.behind), standstill.waiting
    told = []
    if behind and waiting:
        told.append(f"其他有响应的 rank 都在 `{waiting}` 中等待,而 {behind} 不在其中。")
    elif behind:
        told.append(f"{behind} 的最后一步比其他 rank 旧。")
    elif waiting and len(standstill.standing) > 1:
        told.append(f"所有有响应的 rank 都在 `{waiting}` 中等待。")
    if standstill.silent:
        told.append(f"{_listed(standstill.silent)} 没有任何消息。")
    return "".join(told)


def _listed(ranks: Sequence[int]) -> str:
    """``rank 3``, ``rank 0, 2``, ``rank 0, 1, 2 and 61 more``."""
    shown = ", ".join(map(str, ranks[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank {shown}{more}" if ranks else ""


def of_stillness(stillness: Stillness) -> Finding:
    """Say how long, at which step, and whose words ended first; asked by `doctor.logs.hangs`."""
    behind = stillness.behind[0] if stillness.behind else None
    where = stillness.where if behind is None else replace(stillness.where, rank=behind[0])
    return found(
        PROBLEM, MESSAGE if stillness.total is None else AT_STEP, where=where, evidence=stillness.evidence,
        confidence=LIKELY, seconds=_long(stillness.seconds), seconds_zh=_long_zh(stillness.seconds),
        usual=_long(stillness.usual_s), usual_zh=_long_zh(stillness.usual_s),
        step="?" if stillness.step is None else stillness.step, total=stillness.total,
        behind=f"The last words of rank {behind[0]} are {_long(behind[1])} older than those of the others."
            if behind else "",
        behind_zh=f"rank {behind[0]} 的最后输出比其他 rank 早 {_long_zh(behind[1])}。" if behind else "",
    )  # fmt: skip


def _long(seconds: float) -> str:
    """``under 1 s``, ``3.4 s``, ``19 s``, ``12 min``, ``3.5 h``."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _long_zh(seconds: float) -> str:
    return _long(seconds).replace("under", "不到").replace("min", "分钟").replace(" s", " 秒").replace(" h", " 小时")
