"""Draws what the GPUs do: the live table of `doctor monitor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.console import ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table

from doctor.base.ranks import ranks_text
from doctor.catalogue.reasons import translated
from doctor.render.ink import Text, cell_len

if TYPE_CHECKING:
    from doctor.render.ink import Console


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "gpu": "GPU", "gpus": "GPUs", "node": "node", "sm": "SM %", "busy": "busy %", "tensor": "tensor %",
        "dram": "DRAM %", "memory": "memory MiB", "power": "W", "heat": "°C", "clock": "MHz", "slowed": "throttled",
        "some": "{slowed} of {count}",
        "pid": "pid", "role": "role", "rank": "rank", "held": "GPU MiB", "cpu": "CPU %", "memory_host": "memory MiB",
        "name": "name",
        "no_gpu": "no GPU", "why_no_gpu": "no GPU: {reason}", "no_driver": "waiting for the driver",
        "no_nodes": "waiting for the nodes", "more": "+{count} nodes", "lost": "lost: {names}",
        "nodes": "{count} nodes", "written": "written to {path}", "quit": "q quits",
        "host_cpu": "CPU {pct} % of {cpus}", "host_memory": "memory {used} of {whole} MiB",
        "host_swap": "swap {used} MiB", "host_shm": "shared memory {used} of {whole} MiB",
    },
    "zh": {
        "gpu": "GPU", "gpus": "GPU 数", "node": "节点", "sm": "SM %", "busy": "占用 %", "tensor": "张量 %",
        "dram": "带宽 %", "memory": "显存 MiB", "power": "瓦", "heat": "°C", "clock": "MHz", "slowed": "降频",
        "some": "{slowed}/{count} 张",
        "pid": "pid", "role": "角色", "rank": "rank", "held": "显存 MiB", "cpu": "CPU %", "memory_host": "内存 MiB",
        "name": "名称",
        "no_gpu": "没有 GPU", "why_no_gpu": "没有 GPU:{reason}", "no_driver": "正在等待驱动",
        "no_nodes": "正在等待各节点", "more": "另有 {count} 个节点", "lost": "失联:{names}",
        "nodes": "{count} 个节点", "written": "写入 {path}", "quit": "按 q 退出",
        "host_cpu": "CPU {pct} %(共 {cpus} 个)", "host_memory": "内存 {used} / {whole} MiB",
        "host_swap": "交换 {used} MiB", "host_shm": "共享内存 {used} / {whole} MiB",
    },
}  # fmt: skip

#: head, column, format of a GPU's figure
_FIGURES = (
    ("sm", "sm_active_pct", ".0f"), ("busy", "gpu_busy_pct", ".0f"), ("tensor", "tensor_active_pct", ".0f"),
    ("dram", "dram_active_pct", ".0f"), ("memory", "memory_used_mib", ",.0f"), ("power", "power_w", ".0f"),
    ("heat", "temperature_c", ".0f"), ("clock", "sm_clock_mhz", ".0f"),
)  # fmt: skip

#: columns that a narrow terminal lacks, those first that are missed least
_LESS = ("tensor", "dram", "clock", "busy", "heat", "power")
_LESS_OF_PROCESSES = ("cpu", "rank", "memory_host", "name", "role")

#: cells of the longest reason, and of a name that can still be told from others
_REASON, _NAME = len("hw_power_brake_slowdown"), 8

#: reasons that are ordinary
_QUIET = {"none", "gpu_idle", "sw_power_cap", "applications_clocks_setting"}
_MOST_PROCESSES = 20
_GAP = 2


class _Grid:
    """A table whose figures are whole on however narrow a terminal: heads are folded, then columns left out.

    Args:
        columns: (name, head, justification); the last one is words, which take what the others leave.
        rows: cells of each row, and its style.
        less: columns that may be left out, in this order.
        words: cells that the last column needs at most before another one is left out for it.

    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str, Literal["left", "right"]]],
        rows: Sequence[tuple[Sequence[str | Text], str]],
        less: Sequence[str],
        words: int,
    ) -> None:
        self._columns = columns
        self._rows = rows
        self._less = less
        self._words = words

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for that width."""
        del console
        table = Table(box=None, pad_edge=False)
        kept = self._kept(options.max_width)
        for number, width in zip(kept, self._widths(kept, options.max_width), strict=True):
            _, head, justify = self._columns[number]
            table.add_column(head, justify=justify, overflow="fold", width=width)
        for cells, style in self._rows:
            table.add_row(*(cells[number] for number in kept), style=style)
        yield table

    def _kept(self, room: int) -> list[int]:
        """Columns that have room with their heads folded."""
        kept = list(range(len(self._columns)))
        for name in self._less:
            if sum(map(self._least, kept)) + _GAP * (len(kept) - 1) <= room:
                break
            kept = [number for number in kept if self._columns[number][0] != name]
        return kept

    def _widths(self, kept: Sequence[int], room: int) -> list[int]:
        """Width of each column: heads are folded where they must, and the last one has the rest."""
        *fixed, last = kept
        least = [self._least(number) for number in fixed]
        widths = [max(cell_len(text) for text in self._texts(number)) for number in fixed]
        wanted = max(map(cell_len, self._texts(last)))
        room -= _GAP * len(fixed)
        while sum(widths) + wanted > room and widths != least:
            number = max(range(len(widths)), key=lambda each: widths[each] - least[each])
            widths[number] = least[number]
        return [*widths, max(1, min(wanted, room - sum(widths)))]

    def _texts(self, number: int) -> list[str]:
        return [self._columns[number][1], *(str(cells[number]) for cells, _ in self._rows)]

    def _least(self, number: int) -> int:
        """Cells of a column's longest word."""
        longest = max((cell_len(word) for text in self._texts(number) for word in text.split()), default=0)
        return min(longest, self._words) if number == len(self._columns) - 1 else longest


class _Parts:
    """Clauses with dots between them, a line ending between two clauses only."""

    def __init__(self, parts: Sequence[str], style: str = "") -> None:
        self._parts = parts
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many lines as that width needs."""
        del console
        line = ""
        for part in self._parts:
            joined = f"{line} · {part}" if line else part
            if line and cell_len(joined) > options.max_width:
                yield Text(line, style=self._style)
                joined = part
            line = joined
        yield Text(line, style=self._style)


def live(latest: Any, where: str, why_no_gpu: str | None, language: str = "en") -> RenderableType:
    """The live table: GPUs, processes, the machine.

    Args:
        latest: `doctor.monitors.sampler.latest.Latest`.
        where: folder that the figures are written to.
        why_no_gpu: why there are none, if so.
        language: `en` or `zh`.

    """
    words = WORDS[language]
    parts: list[RenderableType] = []
    if latest.gpus:
        parts += [Text(line, style="dim") for line in card_lines(latest.cards)]
        parts.append(_gpus(latest, words))
    elif why_no_gpu:
        parts.append(Text(words["why_no_gpu"].format(reason=translated(why_no_gpu, language))))
    else:
        parts.append(Text(words["no_driver"]))
    if latest.gpu_processes or latest.processes:
        parts.append(_processes(latest, words))
    parts += [_host(latest.host, words), _Parts([words["written"].format(path=where), words["quit"]], "dim")]
    return Group(*parts)


def card_lines(cards: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """`GPU 0-7  NVIDIA H200 · 140.4 GiB`, a line for each kind of card."""
    kinds: dict[str, list[int]] = {}
    for index, card in cards.items():
        total = card.get("memory_total_mib")
        told = [str(card["name"])] if card.get("name") else []
        told += [f"{total / 1024:.1f} GiB"] if isinstance(total, int) else []
        if told and index.isdecimal():
            kinds.setdefault(" · ".join(told), []).append(int(index))
    return [f"GPU {ranks_text(sorted(indices))}  {kind}" for kind, indices in kinds.items()]


def live_nodes(latest: Any, where: str, lines: int, language: str = "en") -> RenderableType:
    """The live table of several machines: a row a GPU where they fit, else a row a node.

    Args:
        latest: `doctor.monitors.sampler.latest.LatestOfNodes`.
        where: folder that the figures are written to.
        lines: of the terminal.
        language: `en` or `zh`.

    """
    words = WORDS[language]
    room = max(_FEWEST_ROWS, lines - _OTHER_LINES)
    names = sorted(latest.nodes)
    parts: list[RenderableType] = []
    if not names:
        parts.append(Text(words["no_nodes"]))
    elif sum(max(1, len(latest.nodes[name].gpus)) for name in names) <= room:
        parts.append(_gpus_of_nodes(latest, names, words))
    else:
        # where not all fit, those with trouble come first
        shown = sorted(names, key=lambda name: not _troubled(latest, name))[:room] if len(names) > room else names
        parts.append(_nodes(latest, shown, words))
        if len(names) > room:
            parts.append(Text(words["more"].format(count=len(names) - room), style="dim"))
    if latest.lost:
        told = ", ".join(sorted(latest.lost)[:_MOST_LOST])
        parts.append(Text(words["lost"].format(names=told), style="red"))
    foot = [words["nodes"].format(count=len(names)), words["written"].format(path=where), words["quit"]]
    return Group(*parts, _Parts(foot, "dim"))


#: rows that are drawn on however small a terminal; lines beside them; lost nodes that are named
_FEWEST_ROWS, _OTHER_LINES, _MOST_LOST = 8, 5, 8


def _troubled(latest: Any, name: str) -> bool:
    node = latest.nodes[name]
    return name in latest.lost or any(_loud(node, key) for key in node.gpus)


def _gpus_of_nodes(latest: Any, names: list[str], words: Mapping[str, str]) -> _Grid:
    rows: list[tuple[Sequence[str | Text], str]] = []
    for name in names:
        node = latest.nodes[name]
        style = "dim" if name in latest.lost else ""
        cards = [_row(node, key) for key in _in_order(node.gpus)] or [[words["no_gpu"], *_nothing()]]
        rows += [(["" if number else name, *cells], style) for number, cells in enumerate(cards)]
    return _grid(("node", "gpu"), rows, words)


def _nodes(latest: Any, names: list[str], words: Mapping[str, str]) -> _Grid:
    """A row a node: means of its GPUs, of memory and power the sum, of the temperature the highest."""
    rows: list[tuple[Sequence[str | Text], str]] = []
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
        some = words["some"].format(slowed=slowed, count=len(cards))
        mark = Text(some if slowed else "–", style="red" if slowed else "")
        rows.append(([name, str(len(cards)), *cells, mark], "dim" if name in latest.lost else ""))
    return _grid(("node", "gpus"), rows, words)


_SUMMED = frozenset({"memory_used_mib", "power_w", "temperature_c"})


def _grid(names: Sequence[str], rows: Sequence[tuple[Sequence[str | Text], str]], words: Mapping[str, str]) -> _Grid:
    columns: list[tuple[str, str, Literal["left", "right"]]] = [(name, words[name], "left") for name in names]
    columns += [(name, words[name], "right") for name, _, _ in _FIGURES]
    return _Grid([*columns, ("slowed", words["slowed"], "left")], rows, _LESS, _REASON)


def _nothing() -> list[str]:
    """Cells of a machine that has no GPU to tell of."""
    return [""] * (len(_FIGURES) + 1)


def _gpus(latest: Any, words: Mapping[str, str]) -> _Grid:
    return _grid(("gpu",), [(_row(latest, key), "") for key in _in_order(latest.gpus)], words)


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


def _processes(latest: Any, words: Mapping[str, str]) -> _Grid:
    heads = ("pid", "role", "rank", "gpu", "held", "cpu", "memory_host", "name")
    on_gpu: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for (gpu, _, pid), row in latest.gpu_processes.items():
        on_gpu.setdefault(pid, []).append((gpu, row))
    pids = [pid for pid in on_gpu if pid not in latest.processes]
    pids += sorted(latest.processes, key=lambda pid: -float(latest.processes[pid]["memory_mib"] or 0))
    rows: list[tuple[Sequence[str | Text], str]] = []
    for pid in pids[:_MOST_PROCESSES]:
        held = on_gpu.get(pid, [])
        own = latest.processes.get(pid) or (held[0][1] if held else {})
        if own.get("role") == "other" and held:  # who holds a card may be known better by that
            own = {**own, "role": held[0][1]["role"]}
        used = sum(float(row["memory_used_mib"] or 0) for _, row in held)
        cells = [
            pid, own.get("role", ""), own.get("rank", ""), ",".join(gpu for gpu, _ in held),
            f"{used:,.0f}" if held else "",
            own.get("cpu_pct", ""), _thousands(own.get("memory_mib", "")), Text(own.get("name", "")),
        ]  # fmt: skip
        rows.append((cells, ""))
    columns: list[tuple[str, str, Literal["left", "right"]]] = [
        (name, words[name], "left" if name in {"role", "name"} else "right") for name in heads
    ]
    return _Grid(columns, rows, _LESS_OF_PROCESSES, _NAME)


def _thousands(figure: str) -> str:
    return f"{float(figure):,.0f}" if figure else ""


def _host(row: dict[str, str], words: Mapping[str, str]) -> RenderableType:
    if not row:
        return Text("")
    return _Parts([
        words["host_cpu"].format(pct=row["cpu_pct"] or "·", cpus=row["cpus"]),
        words["host_memory"].format(used=_thousands(row["memory_used_mib"]), whole=_thousands(row["memory_total_mib"])),
        words["host_swap"].format(used=_thousands(row["swap_used_mib"])),
        words["host_shm"].format(used=_thousands(row["shm_used_mib"]), whole=_thousands(row["shm_total_mib"])),
    ])  # fmt: skip
