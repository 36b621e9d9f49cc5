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
## References
https://github.com/benfred/py-spy
https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
https://github.com/tqdm/tqdm
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
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
