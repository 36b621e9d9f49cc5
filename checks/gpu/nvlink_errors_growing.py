"""An NVLink sends packets again or is trained anew while the run goes on.

## What it means
The counters of a link grew: replay (packets sent again), recovery (the link was trained anew) or CRC (checksums that
failed). Links correct such errors themselves; a healthy one has next to none. Connector, bridge or board degrade.
## What it does to a run
Nothing is lost yet, but collectives wait for that link, and every rank with them. Often an Xid 74 follows, which ends
the run.
## What to do
Note card and link, compare with `nvidia-smi nvlink -e`. If it goes on, take the node out and have the link looked at.
## How it is found
In the figures of `doctor monitor`, which looks every 30 s: one replay or recovery during the run, or 100 CRC errors a
second, the limits of NVIDIA's DCGM. Fewer CRC errors are ordinary. Blackwell tells recoveries alone.
## References
https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html
https://github.com/NVIDIA/DCGM/blob/master/common/DcgmGPUHardwareLimits.h
https://facebookresearch.github.io/gcm/docs/GCM_Health_Checks/health_checks/check-dcgmi/nvlink
https://github.com/NVIDIA/nvidia-resiliency-ext/pull/302
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import gpu_of, place

PROBLEM = Problem(id="GPU016", name="nvlink-errors-growing", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "NVLink {link} of GPU {gpu} counted errors during the run: replay +{replays}, recovery +{recoveries}",
        "A link that sends packets again or is trained anew holds up every collective that crosses it. Its CRC "
        "errors: up to {crc} a second. Other links with errors in this run: {others}.",
        "Compare with the card's own counters. If they go on growing, take the node out of use and have card, bridge "
        "or board looked at.",
    ),
    zh=Words(
        "运行期间 GPU {gpu} 的 NVLink {link} 出现错误:重传 +{replays},链路恢复 +{recoveries}",
        "反复重传或恢复的链路会拖慢经过它的每次集合通信。其 CRC 错误:最多每秒 {crc} 次。"
        "本次运行中其他出错的链路数:{others}。",
        "与该卡自身的计数器对照;如果继续增长,停用该节点并检查显卡、桥接器或主板。",
    ),
)

#: of NVIDIA's DCGM: errors of these kinds are at fault from the first on, CRC errors only at such a rate
GRAVE, MOST_CRC_PER_S = ("replay", "recovery"), 100.0


@rule(PROBLEM, needs=("gpu/*_replay", "gpu/*_recovery", "gpu/*_crc_per_s"))
class NvlinkErrorsGrowing:
    """Adds up what is new on each link: `gpu/<label>/nvlink_<link>_replay`, `..._recovery`, `..._crc_per_s`."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, float]] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take what one look at a link found."""
        begin, _, rest = point.name.partition("/nvlink_")
        number, _, kind = rest.partition("_")
        if number.isdigit():
            counts = self._counts.setdefault(f"{begin}/{number}", dict.fromkeys((*GRAVE, "crc_per_s"), 0.0))
            counts[kind] = max(counts[kind], point.value) if kind == "crc_per_s" else counts[kind] + point.value
            self._first.setdefault(f"{begin}/{number}", point)
        return None

    def finish(self) -> Optional[Finding]:
        """The link with the most errors, of those that are at fault."""
        bad = {
            link: counts
            for link, counts in self._counts.items()
            if any(counts[kind] for kind in GRAVE) or counts["crc_per_s"] >= MOST_CRC_PER_S
        }
        if not bad:
            return None
        worst = max(bad, key=lambda each: (bad[each]["recovery"], bad[each]["replay"], bad[each]["crc_per_s"]))
        replays, recoveries, crc = (f"{bad[worst][kind]:.0f}" for kind in (*GRAVE, "crc_per_s"))
        text = f"replay +{replays}, recovery +{recoveries}, CRC up to {crc} a second"
        gpu = gpu_of(worst)
        return found(
            PROBLEM, MESSAGE, confidence=CONFIRMED, link=worst.rpartition("/")[2], gpu=gpu, replays=replays,
            recoveries=recoveries, crc=crc, others=len(bad) - 1,
            commands=(f"nvidia-smi nvlink -e -i {gpu.rpartition(':')[2]}",), **place(self._first[worst], text),
        )  # fmt: skip
