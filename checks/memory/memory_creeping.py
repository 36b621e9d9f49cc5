"""Memory grows from part to part of the run and does not come back.

## What it means
The peak of GPU memory, host memory or /dev/shm rises steadily: something is kept that should be let go. Usual reasons:
losses or logits appended to a list with their graph, completions kept for logging, data loader workers that copy a list
of Python objects, an engine that is made anew and not freed, fragmentation under growing lengths.
## What it does to a run
It ends in an out-of-memory error, hours or days later.
## What to do
Compare what grows with what is kept: `.item()` or `.detach()` on what is collected; numpy or arrow in place of lists
of objects in the dataset; `torch.cuda.memory_snapshot()` before and after some steps.
## How it is found
In the figures of `doctor monitor`: after the first quarter, the highest use of eight equal parts of the run rises in at
least six of seven steps, by more than a tenth and by at least 1 GiB (512 MiB in /dev/shm, 4 GiB in host memory), in a
run of at least half an hour.
## References
https://docs.pytorch.org/docs/stable/notes/faq.html
https://github.com/pytorch/pytorch/issues/13246
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import Buckets, gpu_of, place

PROBLEM = Problem(id="MEM023", name="memory-creeping", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "memory of {what} creeps from {first} to {last} GiB and does not come back",
        "The peak rises from part to part of the run. At this rate it grows by {rate} GiB an hour until none is left.",
        "Look for what is kept: tensors collected with their graph, completions kept for logging, lists of Python "
        "objects in data loader workers.",
    ),
    zh=Words(
        "{what} 的内存从 {first} GiB 缓慢增长到 {last} GiB 且不回落",
        "峰值在运行的各段中持续上升,照此速度每小时增长 {rate} GiB,直到耗尽。",
        "查找被保留的对象:带计算图收集的张量、为日志保留的生成结果、数据加载进程中的 Python 对象列表。",
    ),
)

#: parts, steps that must rise, growth, and its least amount in MiB
PARTS, RISES, GROWTH = 8, 6, 1.1
LEAST_MIB = {"memory_used_mib": 1024.0, "shm_used_mib": 512.0, "host": 4096.0}
SKIP, LEAST_S = 0.25, 1800.0


@rule(PROBLEM, needs=("usage/bin_s", "gpu/*_used_mib", "host/memory_used_mib", "host/shm_used_mib"))
class MemoryCreeping:
    """Keeps the peaks of each memory in a bounded number of parts."""

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._seen: dict[str, Buckets] = {}
        self._bins: dict[str, int] = {}
        self._last: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin of one memory in."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.endswith("_used_mib"):
            self._seen.setdefault(point.name, Buckets()).push(point.value)
            self._bins[point.name] = self._bins.get(point.name, 0) + 1
            self._last[point.name] = point
        return None

    def finish(self) -> Optional[Finding]:
        """The memory that grew most, if any crept."""
        grown = {name: growth for name in self._seen if (growth := self._growth(name)) is not None}
        if not grown:
            return None
        name = max(grown, key=lambda each: grown[each][1] - grown[each][0])
        first, last = grown[name]
        peaks = f"peaks {first:.0f} to {last:.0f} MiB"
        hours = self._bins[name] * self._bin_s * (1 - SKIP) * (PARTS - 1) / PARTS / 3600
        what = f"GPU {gpu_of(name)}" if name.startswith("gpu/") else "shared memory" if "shm" in name else "the machine"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, what=what, first=f"{first / 1024:.1f}", last=f"{last / 1024:.1f}",
            rate=f"{(last - first) / 1024 / hours:.2g}", **place(self._last[name], peaks),
        )  # fmt: skip

    def _growth(self, name: str) -> Optional[tuple[float, float]]:
        """Peak of the first and of the last part, when it crept."""
        parts = self._seen[name].parts(PARTS, SKIP)
        if not parts or self._bins[name] * self._bin_s < LEAST_S:
            return None
        rises = sum(later > earlier for earlier, later in zip(parts, parts[1:]))  # noqa: B905, RUF007 - Python 3.9
        figure = name.rpartition("/")[2]
        least = LEAST_MIB["host"] if name == "host/memory_used_mib" else LEAST_MIB[figure]
        crept = rises >= RISES and parts[-1] > GROWTH * parts[0] and parts[-1] - parts[0] >= least
        return (parts[0], parts[-1]) if crept else None
