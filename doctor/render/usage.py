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


def live_nodes(latest: Any, where: str, lines: int) -> RenderableType:
    """The live table of several machines: a row a GPU where they fit, else a row a node.

    Args:
        latest: `doctor.monitors.latest.LatestOfNodes`.
        where: folder that the figures are written to.
        lines: of the terminal.

    """
    room = max(_FEWEST_ROWS, lines - _OTHER_LINES)
    names = sorted(latest.nodes)
    parts: list[RenderableType] = []
    if not names:
        parts.append(Text("waiting for the nodes"))
    elif sum(max(1, len(latest.nodes[name].gpus)) for name in names) <= room:
        parts.append(_gpus_of_nodes(latest, names))
    else:
        # where not all fit, those with trouble come first
        shown = sorted(names, key=lambda name: not _troubled(latest, name))[:room] if len(names) > room else names
        parts.append(_nodes(latest, shown))
        if len(names) > room:
            parts.append(Text(f"+{len(names) - room} nodes", style="dim"))
    if latest.lost:
        parts.append(Text(f"lost: {', '.join(sorted(latest.lost)[:_MOST_LOST])}", style="red"))
    return Group(*parts, Text(f"{len(names)} nodes · written to {where} · q quits", style="dim"))


#: rows that are drawn on however small a terminal; lines beside them; lost nodes that are named
_FEWEST_ROWS, _OTHER_LINES, _MOST_LOST = 8, 5, 8


def _troubled(latest: Any, name: str) -> bool:
    node = latest.nodes[name]
    return name in latest.lost or any(_loud(node, key) for key in node.gpus)


def _gpus_of_nodes(latest: Any, names: list[str]) -> Table:
    table = _table("node", "GPU")
    for name in names:
        node = latest.nodes[name]
        style = "dim" if name in latest.lost else ""
        rows = [_row(node, key) for key in _in_order(node.gpus)] or [["no GPU"]]
        for number, cells in enumerate(rows):
            table.add_row("" if number else name, *cells, style=style)
    return table


def _nodes(latest: Any, names: list[str]) -> Table:
    """A row a node: means of its GPUs, of memory and power the sum, of the temperature the highest."""
    table = _table("node", "GPUs")
    for name in names:
        node = latest.nodes[name]
        cards = [key for key in node.gpus if not key[1]]
        cells = []
        for _, column, form in _FIGURES:
            told = [value for key in cards if (value := node.figure(key, column)) is not None]
            whole = max(told, default=0.0) if column == "temperature_c" else sum(told)
            each = 1 if column in _SUMMED else max(1, len(told))
            cells.append(format(whole / each, form) if told else "·")
        slowed = sum(bool(_loud(node, key)) for key in cards)
        mark = Text(f"{slowed} of {len(cards)}" if slowed else "–", style="red" if slowed else "")
        table.add_row(name, str(len(cards)), *cells, mark, style="dim" if name in latest.lost else "")
    return table


_SUMMED = frozenset({"memory_used_mib", "power_w", "temperature_c"})


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(head)
    for head, _, _ in _FIGURES:
        table.add_column(head, justify="right")
    table.add_column("throttled")
    return table


def _gpus(latest: Any) -> Table:
    table = _table("GPU")
    for key in _in_order(latest.gpus):
        table.add_row(*_row(latest, key))
    return table


def _in_order(keys: Any) -> list[tuple[str, str]]:
    return sorted(keys, key=lambda each: (int(each[0]), each[1]))


def _row(latest: Any, key: tuple[str, str]) -> list[str | Text]:
    """Cells of one GPU or instance, its name first."""
    figures = [latest.figure(key, column) for _, column, _ in _FIGURES]
    cells: list[str | Text] = [
        "·" if value is None else format(value, form) for value, (_, _, form) in zip(figures, _FIGURES, strict=True)
    ]
    loud = _loud(latest, key)
    quiet = "–" if latest.text(key, "throttle_reasons") else "·"
    name = key[0] + (f" MIG {key[1]}" if key[1] else "")
    return [name, *cells, Text(" ".join(loud) or quiet, style="red" if loud else "")]


def _loud(latest: Any, key: tuple[str, str]) -> list[str]:
    """Reasons for a lower clock that are worth a word."""
    return [each for each in latest.text(key, "throttle_reasons").split("|") if each and each not in _QUIET]


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
        if own.get("role") == "other" and held:  # who holds a card may be known better by that
            own = {**own, "role": held[0][1]["role"]}
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
