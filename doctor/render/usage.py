"""Draws what the GPUs do: the live table of `doctor monitor`."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

#: head, column, format of a GPU's figure
_FIGURES = (
    ("SM %", "sm_active_pct", ".0f"), ("busy %", "gpu_busy_pct", ".0f"), ("tensor %", "tensor_active_pct", ".0f"),
    ("DRAM %", "dram_active_pct", ".0f"), ("memory MiB", "memory_used_mib", ",.0f"), ("W", "power_w", ".0f"),
    ("°C", "temperature_c", ".0f"), ("MHz", "sm_clock_mhz", ".0f"),
)  # fmt: skip

#: reasons that are ordinary
_QUIET = {"none", "gpu_idle", "sw_power_cap", "applications_clocks_setting"}
_MOST_PROCESSES = 20


def live(latest: Any, where: str, why_no_gpu: str | None) -> RenderableType:
    """The live table: GPUs, processes, the machine.

    Args:
        latest: `doctor.monitors.latest.Latest`.
        where: folder that the figures are written to.
        why_no_gpu: why there are none, if so.

    """
    parts: list[RenderableType] = []
    if latest.gpus:
        parts.append(_gpus(latest))
    else:
        parts.append(Text(f"no GPU: {why_no_gpu}" if why_no_gpu else "waiting for the driver"))
    if latest.gpu_processes or latest.processes:
        parts.append(_processes(latest))
    parts += [_host(latest.host), Text(f"written to {where} · q quits", style="dim")]
    return Group(*parts)


def _gpus(latest: Any) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("GPU")
    for head, _, _ in _FIGURES:
        table.add_column(head, justify="right")
    table.add_column("throttled")
    for key in sorted(latest.gpus, key=lambda each: (int(each[0]), each[1])):
        figures = [latest.figure(key, column) for _, column, _ in _FIGURES]
        cells = [
            "·" if value is None else format(value, form) for value, (_, _, form) in zip(figures, _FIGURES, strict=True)
        ]
        reasons = latest.text(key, "throttle_reasons")
        loud = [each for each in reasons.split("|") if each and each not in _QUIET]
        quiet = "–" if reasons else "·"
        name = key[0] + (f" MIG {key[1]}" if key[1] else "")
        table.add_row(name, *cells, Text(" ".join(loud) or quiet, style="red" if loud else ""))
    return table


def _processes(latest: Any) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in ("pid", "role", "rank", "GPU", "GPU MiB", "CPU %", "memory MiB", "name"):
        table.add_column(head, justify="left" if head in {"role", "name"} else "right")
    on_gpu: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for (gpu, _, pid), row in latest.gpu_processes.items():
        on_gpu.setdefault(pid, []).append((gpu, row))
    pids = [pid for pid in on_gpu if pid not in latest.processes]
    pids += sorted(latest.processes, key=lambda pid: -float(latest.processes[pid]["memory_mib"] or 0))
    for pid in pids[:_MOST_PROCESSES]:
        held = on_gpu.get(pid, [])
        own = latest.processes.get(pid) or (held[0][1] if held else {})
        used = sum(float(row["memory_used_mib"] or 0) for _, row in held)
        table.add_row(
            pid, own.get("role", ""), own.get("rank", ""), ",".join(gpu for gpu, _ in held),
            f"{used:,.0f}" if held else "",
            own.get("cpu_pct", ""), own.get("memory_mib", ""), Text(own.get("name", "")),
        )  # fmt: skip
    return table


def _host(row: dict[str, str]) -> Text:
    if not row:
        return Text("")
    parts = [
        f"CPU {row['cpu_pct'] or '·'} % of {row['cpus']}",
        f"memory {row['memory_used_mib']} of {row['memory_total_mib']} MiB",
        f"swap {row['swap_used_mib']} MiB",
        f"shared memory {row['shm_used_mib']} of {row['shm_total_mib']} MiB",
    ]
    return Text(" · ".join(parts))
