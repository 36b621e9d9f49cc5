"""Draws a look at a run that stands still: on a terminal, and as a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rich.table import Table

from doctor.base.redact import redact_text
from doctor.catalogue.reasons import translated
from doctor.render.html import bare, prose
from doctor.render.ink import Text
from doctor.render.wrapping import wrapped

if TYPE_CHECKING:
    from doctor.render.ink import Console


_TITLE = 70
#: columns from which on whole paths fit beside the names of processes; folders above the last one
_WIDE, _DEEP = 110, re.compile(r"(?:[\w.-]+/){2,}([\w.-]+/[\w.-]+\.py)")

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "who": "process", "does": "does", "waits": "waits for", "by": "source", "hook": "itself", "py-spy": "py-spy",
        "": "none", "graph": "Who waits for whom", "processes": "Processes", "stacks": "Stacks",
        "note": "Not inspected: {why}", "title": "Stalled run",
        "counts": "Processes inspected: {count}, in {seconds:.1f} s; with stacks: {answered}.",
    },
    "zh": {
        "who": "进程", "does": "状态", "waits": "等待", "by": "来源", "hook": "自身", "py-spy": "py-spy", "": "无",
        "graph": "谁在等谁", "processes": "进程", "stacks": "调用栈", "note": "未能检查:{why}", "title": "停滞的运行",
        "counts": "在 {seconds:.1f} 秒内查看了 {count} 个进程,其中 {answered} 个给出了调用栈。",
    },
}  # fmt: skip

_STYLE = """
main { max-width: 60rem; } .edges { font-family: ui-monospace, monospace; font-size: .92rem; }
.edges li { list-style: none; margin: .2rem 0; } .edges b { font-weight: 600; }
.sink { color: var(--error); } table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; padding: .2rem 1rem .2rem 0; }
td { border-top: 1px solid var(--line); padding: .3rem 1rem .3rem 0; }
"""


def counts_of(data: Mapping[str, Any], language: str) -> str:
    """How many processes were looked at."""
    processes = data["processes"]
    return WORDS[language]["counts"].format(
        count=len(processes), seconds=data["seconds"], answered=sum(bool(each["by"]) for each in processes)
    )


def draw(data: Mapping[str, Any], console: Console, language: str, edge: Callable[[Mapping[str, Any]], str],
         does: Callable[[Mapping[str, Any]], str]) -> None:  # fmt: skip
    """Sentences first, then the graph, then one line a process.

    Args:
        data: of a look, as `doctor.hang.told.as_data` gives it.
        console: of the terminal.
        language: "en" or "zh".
        edge: what a wait is for, in words.
        does: what a process does, in words.

    """
    words = WORDS[language]
    for number, each in enumerate(data["told"][language]):
        console.print(Text(each, style="bold" if number == 0 else ""), soft_wrap=True)
    console.print()
    names = {each["pid"]: each["name"] for each in data["processes"]}
    if data["waits"]:
        console.print(Text(words["graph"], style="dim"))
        for line in tree(data, edge):
            for number, part in enumerate(wrapped(Text(redact_text(line)), max(20, console.width - 4))):
                console.print(Text(" " * (4 if number else 2)) + part)
        console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("who", "does", "by"):
        table.add_column(words[name], no_wrap=name != "does", overflow="fold")
    for each in data["processes"]:
        title = names[each["pid"]] if each["name"].startswith("rank ") else _short(each["name"])
        table.add_row(
            Text(title), Text(_narrow(does(each), console.width), style="cyan"), Text(words[each["by"]], style="dim")
        )
    console.print(table)
    console.print(Text(counts_of(data, language), style="dim"))
    for each in data["notes"]:
        console.print(Text(words["note"].format(why=translated(each, language)), style="yellow"), soft_wrap=True)


def tree(data: Mapping[str, Any], edge: Callable[[Mapping[str, Any]], str]) -> list[str]:
    """The graph as text: each process that waits, with an arrow to what it waits for; alike ones in one line."""
    names = {each["pid"]: each["name"] for each in data["processes"]}
    alike: dict[str, list[str]] = {}
    for each in data["waits"]:
        alike.setdefault(edge(each), []).append(names.get(each["who"], f"pid {each['who']}"))
    return [f"{_several(who)} ──► {what}" for what, who in alike.items()]


def _several(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown}, +{len(names) - 8}" if len(names) > 8 else shown


def _narrow(text: str, width: int) -> str:
    """Paths of libraries by their last two parts where a line has no room for more: they would break within a name."""
    return text if width >= _WIDE else _DEEP.sub("\\1", text)


def _short(title: str) -> str:
    text = " ".join(redact_text(title).split())
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def page(data: Mapping[str, Any], language: str, edge: Callable[[Mapping[str, Any]], str],
         does: Callable[[Mapping[str, Any]], str]) -> str:  # fmt: skip
    """A page of its own, without scripts; everything from outside is escaped."""
    words = WORDS[language]
    told = "".join(f'<p class="verdict error">{prose(each)}</p>' for each in data["told"][language])
    rows = "".join(
        f"<tr><td>{escape(each['name'])}</td><td>{prose(does(each))}</td><td>{escape(words[each['by']])}</td></tr>"
        for each in data["processes"]
    )
    stacks = "".join(_stack(each) for each in data["processes"] if each["frames"])
    notes = "".join(
        f"<li>{escape(words['note'].format(why=translated(each, language)))}</li>" for each in data["notes"]
    )
    edges = "".join(f"<li>{escape(line)}</li>" for line in tree(data, edge))
    body = (
        f"<h1>{escape(words['title'])}</h1>{told}<h2>{escape(words['graph'])}</h2>{_drawn(data)}"
        f'<ul class="edges">{edges}</ul><h2>{escape(words["processes"])}</h2>'
        f"<table><tr><th>{escape(words['who'])}</th><th>{escape(words['does'])}</th><th>{escape(words['by'])}</th></tr>"
        f"{rows}</table><p>{escape(counts_of(data, language))}</p><ul>{notes}</ul>"
        f"<h2>{escape(words['stacks'])}</h2>{stacks}"
    )
    return bare(body, words["title"], _STYLE, language)


def _stack(each: Mapping[str, Any]) -> str:
    values = "".join(f"<span>{escape(name)} = {escape(value)}</span>" for name, value in each["values"])
    frames = escape("\n".join(each["frames"]))
    return (
        f"<details><summary>{escape(each['name'])}: {escape(each['title'])}</summary>"
        f'<pre class="seen"><code>{frames}</code>{values}</pre></details>'
    )


_ROW, _COLUMN, _BOX = 56, 260, 220


def _drawn(data: Mapping[str, Any]) -> str:
    """The graph as SVG: those that wait on the left, what they wait for to the right of them."""
    names = {each["pid"]: each["name"] for each in data["processes"]}
    edges = [(each["who"], target) for each in data["waits"] for target in each["targets"]]
    column = _columns(edges)
    if not column:
        return ""
    places: dict[int, tuple[int, int]] = {}
    for pid in sorted(column, key=lambda each: (column[each], each)):
        row = sum(column[other] == column[pid] for other in places)
        places[pid] = (column[pid] * _COLUMN + 10, row * _ROW + 10)
    height = max(y for _, y in places.values()) + _ROW
    width = max(x for x, _ in places.values()) + _BOX + 10
    lines = "".join(_line(places[who], places[target]) for who, target in edges)
    boxes = "".join(_box(places[pid], names.get(pid, f"pid {pid}"), pid in data["sinks"]) for pid in places)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%" style="max-width:{width}px" role="img">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>{lines}{boxes}</svg>'
    )


def _columns(edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Process -> how many waits lie before it on the longest way, cut where it goes in a circle."""
    column = {pid: 0 for edge in edges for pid in edge}
    for _ in range(min(len(column), 6)):
        for who, target in edges:
            column[target] = min(max(column[target], column[who] + 1), 6) if target != who else column[target]
    kept = sorted({*column.values()})
    return {pid: kept.index(each) for pid, each in column.items()}


def _line(one: tuple[int, int], two: tuple[int, int]) -> str:
    forward = two[0] > one[0]
    x1, x2 = (one[0] + _BOX, two[0]) if forward else (one[0], two[0] + _BOX)
    if one[0] == two[0]:
        x1 = x2 = one[0] + _BOX
    bend = 30 if forward else -30
    path = f"M{x1} {one[1] + 18} C{x1 + bend} {one[1] + 18} {x2 - bend} {two[1] + 18} {x2} {two[1] + 18}"
    return f'<path d="{path}" fill="none" stroke="currentColor" marker-end="url(#tip)"/>'


def _box(place: tuple[int, int], name: str, is_sink: bool) -> str:
    stroke = "var(--error)" if is_sink else "var(--line)"
    text = name if len(name) <= 30 else name[:28] + "…"
    return (
        f'<rect x="{place[0]}" y="{place[1]}" width="{_BOX}" height="36" rx="6" fill="var(--card)" stroke="{stroke}"/>'
        f'<text x="{place[0] + 10}" y="{place[1] + 23}" font-size="13" fill="currentColor">{escape(text)}</text>'
    )
