"""What events and counters of a run say by themselves: a card lost, an Xid, new ECC errors, throttling, a narrow link.

They cite the problems that `doctor check` knows; here they happened during the run.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.index import load
from doctor.core.problem import INFO, Problem
from doctor.facts._gpu import REASONS
from doctor.monitors.usage import Summary, mean, span
from doctor.monitors.usage_files import GpuKey, Track, Usage

SLOWED = Message(
    en=Words(
        "GPU {gpu} was slowed down in {share} % of the run: {reasons}",
        "Synchronous training runs at the speed of its slowest card, so the whole run was slowed down with it.",
        "Look at the cooling and the power supply of this card, or leave it out of the run.",
    ),
    zh=Words(
        "GPU {gpu} 在 {share} % 的运行时间里被降频:{reasons}",
        "同步训练的速度由最慢的卡决定,整个训练都因此变慢。",
        "请检查这块卡的散热与供电,或不使用它训练。",
    ),
)
LOST = Message(
    en=Words(
        "GPU {gpu} was lost {after} into the run",
        "The driver no longer reached the card. What ran on it hangs or dies, and every other rank waits for it.",
        "Drain the node and reboot it. If it happens again, look at power, heat and seating of the card.",
    ),
    zh=Words(
        "GPU {gpu} 在运行 {after} 后失去联系",
        "驱动无法再访问该卡,其上的程序会挂起或退出,其余 rank 一直等待。",
        "排空节点并重启;若再次发生,检查该卡的供电、温度和插槽。",
    ),
)
XID = Message(
    en=Words(
        "Xid {xid} on GPU {gpu}, {after} into the run: {meaning}",
        "The driver reports with this number what went wrong on the card at that moment.",
        "Look the number up in NVIDIA's table and compare the time with what the run printed then.",
    ),
    zh=Words(
        "运行 {after} 时 GPU {gpu} 出现 Xid {xid}:{meaning}",
        "驱动用这个编号报告当时该卡上发生的问题。",
        "请查阅 NVIDIA 的 Xid 表,并与当时的日志对照。",
    ),
)
ECC = Message(
    en=Words(
        "GPU {gpu} had {count} new uncorrected memory errors during the run",
        "The process that touches the bad memory dies with Xid 48 or 94, and every other rank waits for it.",
        "Drain the node, then reset the GPU. If the count returns, have the card replaced.",
    ),
    zh=Words(
        "GPU {gpu} 在运行期间新增 {count} 个无法纠正的显存错误",
        "访问到坏显存的进程会以 Xid 48 或 94 退出,其余 rank 一直等待。",
        "先排空该节点,再重置该 GPU;如果计数再次出现,请更换显卡。",
    ),
)
NARROW = Message(
    en=Words(
        "the PCIe link of GPU {gpu} ran with {width} of {most} lanes",
        "Copies between host and card take longer in the same measure.",
        "Reseat the card or its riser, and look at the slot's setting in the BIOS.",
    ),
    zh=Words(
        "GPU {gpu} 的 PCIe 链路只用了 {most} 条通道中的 {width} 条",
        "主机与显卡之间的拷贝相应变慢。",
        "重新插好显卡或转接卡,并检查 BIOS 中该插槽的设置。",
    ),
)
HUNG = Message(
    en=Words(
        "the NVIDIA driver stopped answering {times} times, first {after} into the run",
        "For that time there are no figures of the GPUs; a driver that hangs often takes the run with it.",
        "Look for Xids and errors of the driver in `dmesg`; a reboot is the usual way out.",
    ),
    zh=Words(
        "NVIDIA 驱动停止响应 {times} 次,首次在运行 {after} 时",
        "这段时间没有 GPU 数据;驱动挂起往往也会使训练停住。",
        "在 `dmesg` 中查找 Xid 和驱动错误;通常需要重启。",
    ),
)

#: share and seconds of slowing down that are worth a word
LEAST_SHARE, LEAST_S = 0.05, 30.0
_BAD = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def of_run(usage: Usage, summary: Summary) -> Iterator[Finding]:
    """Everything that can be said without a rule."""
    catalogue = {entry.id: importlib.import_module(entry.module) for entry in load() if entry.id in _CITED}
    problems = {ident: vars(module)["PROBLEM"] for ident, module in catalogue.items()}
    meanings: Mapping[int, str] = vars(catalogue["GPU010"]).get("HARDWARE", {})
    for key, figures in usage.gpus.items():
        if key.mig is None:
            yield from _of_gpu(usage, key, figures, summary, problems)
    yield from _of_events(usage, problems, meanings)


_CITED = frozenset({"GPU001", "GPU002", "GPU004", "GPU007", "GPU008", "GPU010"})


def _of_gpu(
    usage: Usage, key: GpuKey, figures: dict[str, Track], summary: Summary, problems: dict[str, Problem]
) -> Iterator[Finding]:
    label, where = usage.label(key), Where(gpu=key.index, host=key.host if usage.several_hosts else None)
    if "throttle" in figures and (slowed := _slowed(figures["throttle"], summary.seconds)):
        share, reasons = slowed
        yield found(
            problems["GPU007"], SLOWED, gpu=label, share=f"{100 * share:.0f}",
            reasons=", ".join(f"`{each}`" for each in reasons), where=where,
            commands=(f"nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i {key.index}",),
            evidence=(Evidence("clock event reasons", ", ".join(reasons)),),
        )  # fmt: skip
    errors = figures.get("ecc_uncorrected")
    if errors is not None and errors.v[-1] > errors.v[0]:
        text = f"count rose from {errors.v[0]:.0f} to {errors.v[-1]:.0f}"
        count = f"{errors.v[-1] - errors.v[0]:.0f}"
        yield found(
            problems["GPU004"], ECC, gpu=label, count=count, where=where, evidence=(Evidence("NVML", text),)
        )  # fmt: skip
    width, most = figures.get("pcie_width"), figures.get("pcie_width_max")
    if width is not None and most is not None and width.v.max() < most.v.max():
        text = f"link width {width.v.max():.0f} of {most.v.max():.0f} throughout"
        yield found(
            problems["GPU008"], NARROW, gpu=label, width=f"{width.v.max():.0f}", most=f"{most.v.max():.0f}",
            where=where, evidence=(Evidence("NVML", text),),
        )  # fmt: skip


def _slowed(track: Track, seconds: float) -> tuple[float, list[str]] | None:
    """Share of the time under a bad reason, and which; None when it is not worth a word."""
    bits = track.v.astype(int)
    names = {name: bit for bit, name in REASONS if name in _BAD}
    mask = sum(names.values())
    share = mean(Track(track.t, ((bits & mask) != 0).astype(float))) or 0.0
    if share < LEAST_SHARE or share * seconds < LEAST_S:
        return None
    return share, [name for name, bit in names.items() if bool((bits & bit).any())]


def _of_events(usage: Usage, problems: dict[str, Problem], meanings: Mapping[int, str]) -> Iterator[Finding]:
    begin_s, _ = span(usage)
    seen: set[tuple[Any, ...]] = set()
    hangs = [event for event in usage.events if event["data"].get("what") == "nvml hangs"]
    for event in usage.events:
        data, after = event["data"], duration(event["t_ns"] / 1e9 - begin_s)
        what, gpu = data.get("what"), data.get("gpu")
        key = (event.get("host"), what, gpu, data.get("xid"))
        if event["kind"] != "gpu" or key in seen:
            continue
        seen.add(key)
        where = Where(gpu=gpu, host=event.get("host") if usage.several_hosts else None)
        if what == "lost":
            evidence = (Evidence("NVML", f"code {data.get('code')}"),)
            yield found(problems["GPU002"], LOST, gpu=gpu, after=after, where=where, evidence=evidence)
        elif what == "xid":
            known = meanings.get(data["xid"])
            yield found(
                problems["GPU010"], XID, gpu="?" if gpu is None else gpu, xid=data["xid"], after=after,
                meaning=known or "often a fault of the program", severity=None if known else INFO, where=where,
                evidence=(Evidence("NVML event", f"Xid {data['xid']}"),),
            )  # fmt: skip
    if hangs:
        after = duration(hangs[0]["t_ns"] / 1e9 - begin_s)
        text = f"silent for {hangs[0]['data'].get('silent_s')} s"
        evidence = (Evidence("sampler", text),)
        yield found(problems["GPU001"], HUNG, times=len(hangs), after=after, evidence=evidence)


def duration(seconds: float) -> str:
    """A stretch of time for people: 42 s, 3.5 min, 2.1 h."""
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
