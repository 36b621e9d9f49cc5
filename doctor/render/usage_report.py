"""Draws the figures of a monitored run: tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from doctor.render.ink import Text, cell_len

if TYPE_CHECKING:
    from doctor.render.ink import Console

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "gpu": "GPU", "sm": "SM active %", "busy": "busy %", "tensor": "tensor %", "dram": "DRAM %", "power": "W",
        "memory": "peak MiB", "heat": "max °C", "clock": "MHz", "slowed": "slowed %", "idle": "idle",
        "roles": "roles", "phase": "phase", "time": "time", "share": "share %", "activity": "active %",
        "hours": "GPU time", "value": "value", "change": "change",
        "before": "before", "after": "after", "node": "node", "nodes": "nodes", "gpus": "GPUs",
        "lowest": "lowest", "highest": "highest",
        "left_out": "{count} more nodes differ: `--format json` lists all.",
        "marks": "Phases as marked by the run.",
        "activity_from": "No phase was marked: found from the activity itself.",
        "hours_line": "{idle:.2f} of {all:.2f} GPU-hours were idle ({share:.0f} %).",
        "minutes_line": "{idle:.1f} of {all:.1f} GPU-minutes were idle ({share:.0f} %).",
        "no_truth": "True SM activity is not available here: busy % counts time in which some kernel was resident, on "
        "however few SMs. Read it together with the power.",
        "machine": "machine", "cpu": "CPU %", "cpu_max": "highest", "ram": "memory GiB", "shm": "shared memory GiB",
        "swap": "swap GiB", "read": "read", "written": "written", "received": "received", "sent": "sent",
    },
    "zh": {
        "gpu": "GPU", "sm": "SM 活跃 %", "busy": "占用 %", "tensor": "张量 %", "dram": "显存带宽 %", "power": "瓦",
        "memory": "峰值 MiB", "heat": "最高 °C", "clock": "MHz", "slowed": "降频 %", "idle": "空闲",
        "roles": "角色", "phase": "阶段", "time": "时间", "share": "占比 %", "activity": "活跃 %",
        "hours": "GPU 时间", "value": "数值", "change": "变化",
        "before": "之前", "after": "之后", "node": "节点", "nodes": "节点数", "gpus": "GPU 数",
        "lowest": "最低", "highest": "最高",
        "left_out": "另有 {count} 个节点不同:`--format json` 列出全部。",
        "marks": "阶段由运行自身标记。",
        "activity_from": "没有标记阶段:由活跃度推断。",
        "hours_line": "{all:.2f} GPU 小时中有 {idle:.2f} 空闲({share:.0f} %)。",
        "minutes_line": "{all:.1f} GPU 分钟中有 {idle:.1f} 空闲({share:.0f} %)。",
        "no_truth": "此处无法得到真实的 SM 活跃度:占用 % 只表示有内核驻留,无论用了多少 SM。请与功率一起看。",
        "machine": "机器", "cpu": "CPU %", "cpu_max": "最高", "ram": "内存 GiB", "shm": "共享内存 GiB",
        "swap": "交换 GiB", "read": "读盘", "written": "写盘", "received": "接收", "sent": "发送",
    },
}  # fmt: skip

#: head, key of the figures, format
COLUMNS = (
    ("sm", "sm_active_pct", ".1f"), ("busy", "gpu_busy_pct", ".1f"), ("tensor", "tensor_active_pct", ".1f"),
    ("dram", "dram_active_pct", ".1f"), ("power", "power_w", ".0f"), ("memory", "memory_peak_mib", ",.0f"),
    ("heat", "temperature_max_c", ".0f"), ("clock", "sm_clock_mhz", ".0f"), ("slowed", "slowed_share", ".0%"),
    ("idle", "idle_hours", "h"),
)  # fmt: skip


#: the same of a machine with its GPUs
HOST_COLUMNS = (
    ("nodes", "nodes", "d"), ("gpus", "gpus", "d"), ("activity", "activity_pct", ".1f"),
    ("lowest", "lowest_pct", ".1f"), ("highest", "highest_pct", ".1f"), ("power", "power_w", ",.0f"),
    ("clock", "sm_clock_mhz", ".0f"), ("heat", "temperature_max_c", ".0f"), ("memory", "memory_peak_mib", ",.0f"),
    ("slowed", "slowed_share", ".0%"), ("idle", "idle_hours", "h"),
)  # fmt: skip

#: hours that are told as such; fewer are told in minutes
FEW_HOURS = 0.1

#: GPUs that have a row each; more of them are told machine by machine
MOST_GPU_ROWS = 32


#: cells between two columns
_GAP = 2

#: columns that a narrow terminal lacks, those first that are missed least
_LESS = ("dram", "clock", "tensor", "heat")


def duration(seconds: float) -> str:
    """A stretch of time for people."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def shown(value: float | None, form: str) -> str:
    """A figure; a dot for "not told". `h` are hours, told in minutes or seconds where they are few."""
    if value is None:
        return "·"
    if form == "h":
        return f"{value:.2f} h" if value >= FEW_HOURS else duration(3600 * value)
    return format(value * 100, ".0f") if form == ".0%" else format(value, form)


def hours_line(usage: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Idle hours in one sentence; empty where no GPU was sampled."""
    whole, idle = usage["gpu_hours"], usage["idle_gpu_hours"]
    if not whole:
        return ""
    line, scale = ("hours_line", 1) if whole >= FEW_HOURS else ("minutes_line", 60)
    return words[line].format(idle=scale * idle, all=scale * whole, share=100 * idle / whole)


def lacks_truth(usage: Mapping[str, Any]) -> bool:
    """Whether a GPU was sampled of which only the busy figure is known."""
    return any(each["activity_from"] == "gpu_busy_pct" for each in usage["gpus"])


def draw_usage(usage: Mapping[str, Any], console: Console, language: str) -> None:
    """GPUs, then phases."""
    words = WORDS[language]
    if usage["gpus"]:
        console.print(
            _gpus(usage, words, console.width) if len(usage["gpus"]) <= MOST_GPU_ROWS else _hosts(usage, words)
        )
        if usage["hosts_left_out"] and len(usage["gpus"]) > MOST_GPU_ROWS:
            console.print(Text(words["left_out"].format(count=usage["hosts_left_out"]), style="dim"))
        console.print(Text(hours_line(usage, words)))
    if lacks_truth(usage):
        console.print(Text(words["no_truth"], style="dim"))
    if rows := machine_rows(usage, words):
        if usage["gpus"]:
            console.print()
        for table in _machines(rows, console.width):
            console.print(table)
    if usage["phases"]:
        console.print()
        console.print(_phases(usage, words, console.width))
        console.print(Text(words["marks" if usage["phases_from"] == "marks" else "activity_from"], style="dim"))


def _gpus(usage: Mapping[str, Any], words: Mapping[str, str], width: int) -> Table:
    columns = [each for each in COLUMNS if any(gpu[each[1]] is not None for gpu in usage["gpus"])]
    table = Table(box=None, pad_edge=False)
    table.add_column(words["gpu"])
    roles = any(gpu["roles"] for gpu in usage["gpus"])
    beside = [words["gpu"], *(gpu["label"] for gpu in usage["gpus"])]
    more = [words["roles"], *(", ".join(gpu["roles"]) for gpu in usage["gpus"])] if roles else [""]
    room = width - max(map(cell_len, beside)) - max(map(cell_len, more)) - _GAP * roles
    for name in _LESS:  # `--format json` has them all
        figures = [[shown(gpu[key], form) for _, key, form in columns] for gpu in usage["gpus"]]
        if _folded([words[head] for head, _, _ in columns], figures) <= room:
            break
        columns = [each for each in columns if each[0] != name]
    figures = [[shown(gpu[key], form) for _, key, form in columns] for gpu in usage["gpus"]]
    _add_figures(table, [words[head] for head, _, _ in columns], figures, room)
    if roles:
        table.add_column(words["roles"])
    for gpu, cells in zip(usage["gpus"], figures, strict=True):
        table.add_row(gpu["label"], *cells, *([", ".join(gpu["roles"])] if roles else []))
    return table


def _folded(heads: Sequence[str], figures: Sequence[Sequence[str]]) -> int:
    """Cells of such columns with their heads folded between words."""
    words = [max(cell_len(word) for word in head.split()) for head in heads]
    widest = [max(cell_len(row[number]) for row in figures) for number in range(len(heads))]
    return sum(map(max, words, widest)) + _GAP * len(heads)


def _add_figures(table: Table, heads: Sequence[str], figures: Sequence[Sequence[str]], room: int) -> None:
    """Columns whose figures stay whole in `room` cells: heads are folded, those first that are widest beside them.

    Between words as long as that is enough; then within them, in as few columns as will do.
    """
    figure = [max(cell_len(row[number]) for row in figures) for number in range(len(heads))]
    widths = [max(cell_len(head), each) for head, each in zip(heads, figure, strict=True)]
    words = [max(each, *map(cell_len, head.split())) for head, each in zip(heads, figure, strict=True)]
    room -= _GAP * len(widths)
    while sum(widths) > room and widths != words:
        number = max(range(len(widths)), key=lambda each: widths[each] - words[each])
        widths[number] -= 1
    for number in sorted(range(len(widths)), key=lambda each: figure[each] - words[each]):
        widths[number] = max(figure[number], widths[number] - max(0, sum(widths) - room))
    for head, width in zip(heads, widths, strict=True):
        table.add_column(head, justify="right", overflow="fold", width=width)


def _hosts(usage: Mapping[str, Any], words: Mapping[str, str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(words["node"])
    for head, row in host_rows(usage, words):
        if head:
            for each in row[1:]:
                table.add_column(each, justify="right")
        else:
            table.add_row(*row)
    return table


def host_rows(usage: Mapping[str, Any], words: Mapping[str, str]) -> list[tuple[bool, list[str]]]:
    """(whether it is the head, cells) of the table of machines; a figure that no machine tells has no column."""
    rows = usage["hosts_shown"]
    columns = [each for each in HOST_COLUMNS if any(row[each[1]] is not None for row in rows)]
    if all(row["nodes"] == 1 for row in rows):
        columns = [each for each in columns if each[0] != "nodes"]
    head = (True, [words["node"], *(words[name] for name, _, _ in columns)])
    cells = [(False, [row["label"], *(shown(row[key], form) for _, key, form in columns)]) for row in rows]
    return [head, *cells]


#: figure of a machine, and the one that says of how much it is; `GiB of`, sizes and percent
_OF_MACHINE = (
    ("cpu", "cpu_pct", None, "pct"), ("cpu_max", "cpu_max_pct", None, "pct"),
    ("ram", "memory_peak_mib", "memory_total_mib", "gib"), ("shm", "shm_peak_mib", "shm_total_mib", "gib"),
    ("swap", "swap_peak_mib", None, "gib"), ("read", "disk_read_mib", None, "size"),
    ("written", "disk_write_mib", None, "size"), ("received", "net_rx_mib", None, "size"),
    ("sent", "net_tx_mib", None, "size"),
)  # fmt: skip


def machine_rows(usage: Mapping[str, Any], words: Mapping[str, str]) -> list[list[str]]:
    """Head and a row for each machine; what no machine tells, and swap that none used, has no column."""
    machines = usage.get("machines") or []
    columns = [
        each for each in _OF_MACHINE if any(row[each[1]] is not None and (row[each[1]] or each[0] != "swap")
                                            for row in machines)
    ]  # fmt: skip
    if not columns:
        return []
    rows = [
        [str(row["host"]), *(_of_machine(row[name], row[whole] if whole else None, form)
                             for _, name, whole, form in columns)]
        for row in machines
    ]  # fmt: skip
    return [[words["machine"], *(words[head] for head, *_ in columns)], *rows]


def _of_machine(value: float | None, whole: float | None, form: str) -> str:
    if value is None:
        return "·"
    if form == "pct":
        return f"{value:.0f}"
    if form == "gib":
        return f"{value / 1024:.1f}" + (f" of {whole / 1024:.0f}" if whole else "")
    return f"{value / 1024:.1f} GiB" if value >= 1024 else f"{value:.0f} MiB"


def _machines(rows: Sequence[Sequence[str]], width: int) -> list[Table]:
    """A row per machine; if even heads folded between words do not fit, a table per machine with a line per figure."""
    head, *machines = rows
    room = width - max(cell_len(row[0]) for row in rows)
    figures = [row[1:] for row in machines]
    if _folded(head[1:], figures) > room:
        return [_upright(head, row) for row in machines]
    table = Table(box=None, pad_edge=False)
    table.add_column(head[0])
    _add_figures(table, head[1:], figures, room)
    for row in machines:
        table.add_row(*row)
    return [table]


def _upright(head: Sequence[str], row: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(head[0])
    table.add_column(row[0], justify="right", overflow="fold")
    for name, cell in zip(head[1:], row[1:], strict=True):
        table.add_row(name, cell)
    return table


def phase_heads(*, gpus: bool) -> tuple[str, ...]:
    """Columns of the table of phases; those about GPUs where some were sampled."""
    return ("time", "share", *(("activity", "hours", "idle") if gpus else ()))


def phase_cells(phase: Mapping[str, Any], *, gpus: bool) -> list[str]:
    """The cells below them."""
    cells = [duration(phase["seconds"]), shown(phase["share"], ".0%")]
    of_gpus = (("activity_pct", ".1f"), ("gpu_hours", "h"), ("idle_gpu_hours", "h"))
    return cells + [shown(phase[name], form) for name, form in of_gpus if gpus]


def _phases(usage: Mapping[str, Any], words: Mapping[str, str], width: int) -> Table:
    gpus = bool(usage["gpus"])
    figures = [phase_cells(phase, gpus=gpus) for phase in usage["phases"]]
    table = Table(box=None, pad_edge=False)
    table.add_column(words["phase"])
    beside = [words["phase"], *(phase["name"] for phase in usage["phases"])]
    heads = [words[head] for head in phase_heads(gpus=gpus)]
    _add_figures(table, heads, figures, width - max(map(cell_len, beside)))
    for phase, cells in zip(usage["phases"], figures, strict=True):
        table.add_row(phase["name"], *cells)
    return table


#: figures of a comparison, as a person reads them
_FIGURES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "gpu_hours": "GPU hours", "idle_gpu_hours": "idle GPU hours", "sm_active_pct": "SM active %",
        "gpu_busy_pct": "GPU busy %", "tensor_active_pct": "tensor active %", "power_w": "power W",
        "memory_peak_mib": "peak memory MiB", "activity_pct": "activity %",
    },
    "zh": {
        "seconds": "秒", "gpu_hours": "GPU 小时", "idle_gpu_hours": "空闲 GPU 小时", "sm_active_pct": "SM 活跃 %",
        "gpu_busy_pct": "GPU 占用 %", "tensor_active_pct": "张量活跃 %", "power_w": "功耗 W",
        "memory_peak_mib": "显存峰值 MiB", "activity_pct": "活跃度 %",
    },
}  # fmt: skip


def draw_comparison(first: Mapping[str, Any], second: Mapping[str, Any], console: Console, language: str) -> None:
    """Two runs side by side."""
    words = WORDS[language]
    table = Table(box=None, pad_edge=False)
    table.add_column(words["value"])
    for head in ("before", "after", "change"):
        table.add_column(words[head], justify="right")
    for name, one, other in compared(first, second):
        if not one and not other:  # neither run has it: no GPU, or no such counter
            continue
        change = f"{100 * (other - one) / one:+.0f} %" if one and other is not None else "·"
        phase, _, figure = name.rpartition(" ")
        label = f"{phase} {_FIGURES[language].get(figure, figure)}".strip()
        table.add_row(label, shown(one, ",.2f"), shown(other, ",.2f"), change)
    console.print(table)


def compared(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> list[tuple[str, float | None, float | None]]:  # fmt: skip
    """(what, of the first run, of the second): whole run, means over GPUs, seconds and activity of each phase."""
    rows = [(name, first[name], second[name]) for name in ("seconds", "gpu_hours", "idle_gpu_hours")]
    means = ("sm_active_pct", "gpu_busy_pct", "tensor_active_pct", "power_w", "memory_peak_mib")
    rows += [(key, _mean(first, key), _mean(second, key)) for key in means]
    phases = [{each["name"]: each for each in usage["phases"]} for usage in (first, second)]
    for name in dict.fromkeys([*phases[0], *phases[1]]):
        for key in ("seconds", "activity_pct"):
            one, other = (each.get(name, {}).get(key) for each in phases)
            rows.append((f"{name} {key}", one, other))
    return rows


def _mean(usage: Mapping[str, Any], key: str) -> float | None:
    told = [gpu[key] for gpu in usage["gpus"] if gpu[key] is not None]
    return sum(told) / len(told) if told else None
