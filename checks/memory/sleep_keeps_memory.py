"""vLLM sleeps and keeps much of its GPU memory.

## What it means
Sleep mode unmaps weights and KV cache. What the engine allocated outside of that pool stays: the CUDA context, CUDA
graphs, NCCL's buffers, workspaces, torch's cache. One to six GiB are ordinary; with expandable segments, with weights
loaded past the pool, or in releases with a fault, it is most of what the engine held.
## What it does to a run
The memory is missing for the training step on the same card: smaller batches than would fit, or out of memory.
## What to do
Compare with the line `Sleep mode freed ... GiB memory` of vLLM's own log. Turn expandable segments off for vLLM, try
sleep level 2 and another release of vLLM, capture fewer CUDA graphs; else give the training step what is left.
## How it is found
In the figures of `doctor monitor`: the memory of a vLLM process of its own falls by a fifth from `generation` to
`update` (without marked phases: up and down) on most turns and at least three, and 8 GiB or more, a fifth of what it
held awake, stay. Where vLLM runs inside the trainer's process, the two cannot be told apart. In logs: most sleeps freed
less than 0.25 GiB, and 8 GiB or more of the card are in use; that figure is of all programs on it.
## References
https://docs.vllm.ai/en/latest/features/sleep_mode/
https://github.com/vllm-project/vllm/issues/32714
https://github.com/vllm-project/vllm/issues/47654
https://github.com/vllm-project/vllm/pull/11743
https://github.com/verl-project/verl/issues/6266
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.signature import Hits, Signature
from doctor.core.usage_rules import gpu_of, place

PROBLEM = Problem(id="MEM025", name="sleep-keeps-memory", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "vLLM keeps {kept} of {awake} GiB on GPU {gpu} while it sleeps",
        "Its memory fell and came back at {falls} of {turns} turns, so it does sleep; a sleeping engine keeps one to "
        "six GiB as a rule. What it keeps is missing for the training step where that runs on the same card.",
        "Turn expandable segments off for vLLM, try sleep level 2 or another release of vLLM, and capture fewer CUDA "
        "graphs. Compare with `Sleep mode freed` in its log.",
    ),
    zh=Words(
        "vLLM 睡眠时仍在 GPU {gpu} 上占用 {awake} GiB 中的 {kept} GiB",
        "在 {turns} 次切换中有 {falls} 次其显存下降后又恢复,说明睡眠已生效;睡眠中的引擎通常只保留 1 到 6 GiB。"
        "若训练也在这块卡上进行,它保留的显存是训练步骤用不到的。",
        "对 vLLM 关闭 expandable segments,尝试睡眠级别 2 或其他 vLLM 版本,并减少捕获的 CUDA graph。"
        "请与其日志中的 `Sleep mode freed` 对照。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM went to sleep and freed {freed} GiB; {used} GiB of its card are still in use",
        "Sleep gave next to nothing back at {times} of {lines} times. The memory in use is that of all programs on the "
        "card, so how much of it is vLLM's the line does not tell.",
        "Remove `expandable_segments:True` from `PYTORCH_CUDA_ALLOC_CONF`, and look at what vLLM's process holds with "
        "`nvidia-smi` while it sleeps. If it is much, try another release of vLLM.",
    ),
    zh=Words(
        "vLLM 进入睡眠只释放了 {freed} GiB,所在的卡仍有 {used} GiB 被占用",
        "{lines} 次睡眠中有 {times} 次几乎没有释放显存。占用量是卡上所有程序之和,这一行无法说明其中多少属于 vLLM。",
        "从 `PYTORCH_CUDA_ALLOC_CONF` 中去掉 `expandable_segments:True`,并在其睡眠时用 `nvidia-smi` "
        "查看 vLLM 进程占用多少;若仍很多,换一个 vLLM 版本。",
    ),
)

#: https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/worker/gpu_worker.py
SIGNATURES = (
    Signature(
        r"Sleep mode freed (?P<freed>\d+\.\d+) GiB memory, (?P<used>\d+\.\d+) GiB memory is still in use",
        kind="warning",
    ),
)

#: MiB that stay: healthy engines were seen to keep 1.1 to 4.3 GiB, broken ones 16 GiB of a card of 24 GiB, and more
LEAST_KEPT_MIB = 8 * 1024.0
#: shares of what the engine held awake: that stays, and by which it falls (a broken sleep still freed a quarter)
LEAST_KEPT, LEAST_FALL = 0.2, 0.2
#: turns that are a habit, and the share of them at which the memory fell
FEWEST_FALLS, MOST_TURNS = 3, 0.5
#: in a log: GiB that are next to nothing, less than the weights of the smallest models that people train
NOTHING_GIB = 0.25


class Engine:
    """Turns of one vLLM process on one card: most that it held awake, then the least that it held asleep, in MiB."""

    def __init__(self) -> None:
        self._awake: Optional[float] = None
        self._asleep: Optional[float] = None
        self.turns = self.falls = 0
        self.high = self.low = 0.0

    def see(self, mib: float, *, asleep: bool) -> None:
        """Take one sample in."""
        if asleep:
            if self._awake is not None:
                self._asleep = mib if self._asleep is None else min(self._asleep, mib)
            return
        self.close()
        self._awake = mib if self._awake is None else max(self._awake, mib)

    def close(self) -> None:
        """End the turn, when there is one; the least of all falls counts, so that no turn is overstated."""
        if self._awake is None or self._asleep is None:
            return
        self.turns += 1
        if self._asleep <= (1 - LEAST_FALL) * self._awake:
            if not self.falls or self._asleep < self.low:
                self.high, self.low = self._awake, self._asleep
            self.falls += 1
        self._awake = self._asleep = None

    @property
    def keeps(self) -> bool:
        """Whether it sleeps as a habit and always keeps much."""
        habit = self.falls >= FEWEST_FALLS and self.falls > MOST_TURNS * self.turns
        return habit and self.low >= max(LEAST_KEPT_MIB, LEAST_KEPT * self.high)


@rule(PROBLEM, needs=("gpu/*_awake_mib", "gpu/*_asleep_mib"))
class SleepKeepsMemory:
    """Follows the memory of each vLLM process on each card through the turns of the run."""

    wants = ("gpus", "roles", "engines")

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one sample of an engine in: `gpu/<label>/vllm_<pid>_awake_mib` or `..._asleep_mib`."""
        begin, _, state = point.name.removesuffix("_mib").rpartition("_")
        if "/vllm_" in begin:
            self._first.setdefault(begin, point)
            self._engines.setdefault(begin, Engine()).see(point.value, asleep=state == "asleep")
        return None

    def finish(self) -> Optional[Finding]:
        """The engine that keeps most, if any keeps much."""
        for engine in self._engines.values():
            engine.close()
        keeping = {name: engine for name, engine in self._engines.items() if engine.keeps}
        if not keeping:
            return None
        name = max(keeping, key=lambda each: keeping[each].low)
        worst = keeping[name]
        kept, awake = f"{worst.low / 1024:.1f}", f"{worst.high / 1024:.1f}"
        text = f"process {name.rpartition('_')[2]}: {kept} GiB asleep, {awake} GiB awake; so on {len(keeping)} GPU(s)"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, kept=kept, awake=awake, gpu=gpu_of(name), falls=worst.falls,
            turns=worst.turns, **place(self._first[name], text),
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Only where the sleeps freed next to nothing: else the card may be in use by the trainer, as it should be."""
    empty = []
    for hit in hits:
        freed, used = float(hit.groups["freed"]), float(hit.groups["used"])
        if used * 1024 >= LEAST_KEPT_MIB and freed < NOTHING_GIB:
            empty.append(hit)
    if len(empty) <= len(hits.kept) / 2:
        return None
    first = empty[0]
    return found(
        PROBLEM, LOG_MESSAGE, confidence=LIKELY, freed=first.groups["freed"], used=first.groups["used"],
        times=len(empty), lines=len(hits.kept), where=Where(file=first.file, line=first.line, rank=first.rank),
        evidence=(Evidence(first.file, first.text[:500], first.line),),
    )  # fmt: skip
