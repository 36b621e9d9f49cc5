"""Draws two runs side by side: what changed beyond chance first, then every part; for a terminal and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rich.table import Table

from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console

#: differences as `doctor.monitors.usage.compare.ComparedFigure` gives them, as dictionaries
Rows = Sequence[Mapping[str, Any]]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "changed": "Changed by more than chance:",
        "same": "Nothing changed by more than the variation within the runs.",
        "untold": "The runs are too short to estimate chance: no change is reported.",
        "before": "before", "after": "after", "all": "All figures",
        "part": "part", "figure": "figure", "change": "change", "noise": "chance ±",
        "run": "run", "phase": "phase", "gpu": "GPU", "node": "node",
        "more": "{count} more GPUs or nodes without a change: `--format json` lists all.",
        "activity_pct": "active %", "seconds": "seconds", "seconds_a_turn": "seconds per turn", "share_pct": "share %",
        "tensor_active_pct": "tensor %", "dram_active_pct": "DRAM %", "power_w": "power W", "sm_clock_mhz": "clock MHz",
        "memory_peak_mib": "peak MiB", "temperature_max_c": "max °C",
    },
    "zh": {
        "changed": "超出偶然波动的变化:",
        "same": "没有任何变化超出运行自身的波动。",
        "untold": "运行太短,无法估计其偶然波动:不报告任何变化。",
        "before": "之前", "after": "之后", "all": "全部数据",
        "part": "部分", "figure": "指标", "change": "变化", "noise": "偶然 ±",
        "run": "整个运行", "phase": "阶段", "gpu": "GPU", "node": "节点",
        "more": "另有 {count} 个 GPU 或节点没有变化:`--format json` 列出全部。",
        "activity_pct": "活跃 %", "seconds": "秒", "seconds_a_turn": "每轮秒数", "share_pct": "占比 %",
        "tensor_active_pct": "张量 %", "dram_active_pct": "显存带宽 %", "power_w": "功耗 W", "sm_clock_mhz": "时钟 MHz",
        "memory_peak_mib": "峰值 MiB", "temperature_max_c": "最高 °C",
    },
}  # fmt: skip

#: GPUs or nodes that are shown although nothing of them changed
MOST_PARTS = 16

#: on a phone the columns get narrower instead of leaving the page
STYLE = """
.runs { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; margin: 1.2rem 0 0; }
.runs dt { color: var(--soft); } .runs dd { margin: 0; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.compared { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem;
  margin: 1rem 0; }
.compared th:nth-child(2), .compared td:nth-child(2) { text-align: left; }
.compared td:first-child { overflow-wrap: break-word; }
@media (max-width: 36rem) { .compared { padding: .4rem .5rem; } .compared th, .compared td { font-size: .78rem;
  padding: .18rem .25rem; white-space: normal; } .compared td:nth-child(n+3) { white-space: nowrap; } }
@media print { .compared { border: 0; padding: 0; } .compared tr { break-inside: avoid; } }
"""


def draw(rows: Rows, names: tuple[str, str], console: Console, language: str) -> None:
    """What changed, then the tables."""
    words = WORDS[language]
    changed = [row for row in rows if row["changed"]]
    for which, name in zip(("before", "after"), names, strict=True):
        console.print(Text.assemble((f"{words[which]:{len(words['before'])}}  ", "dim"), name), soft_wrap=True)
    console.print()
    console.print(Text(headline(rows, words), style="bold" if changed else ""))
    if changed:
        console.print(_table(changed, words, noise=True))
    shown, left_out = kept(rows)
    if shown:
        console.print()
        console.print(_table(shown, words, noise=False))
    if left_out:
        console.print(Text(words["more"].format(count=left_out), style="dim"))


def page(rows: Rows, names: tuple[str, str], language: str) -> str:
    """The same as the body of a page."""
    words = WORDS[language]
    changed = [row for row in rows if row["changed"]]
    shown, left_out = kept(rows)
    more = f"<p>{escape(words['more'].format(count=left_out))}</p>" if left_out else ""
    told = "".join(
        f"<dt>{escape(words[which])}</dt><dd>{escape(name)}</dd>"
        for which, name in zip(("before", "after"), names, strict=True)
    )
    return "\n".join((
        f"<h1>{escape(headline(rows, words)[:-1])}</h1>", f'<dl class="runs">{told}</dl>',
        _html(changed, words, noise=True) if changed else "", f"<h2>{escape(words['all'])}</h2>" if changed else "",
        _html(shown, words, noise=False) if shown else "", more,
    ))  # fmt: skip


def headline(rows: Rows, words: Mapping[str, str]) -> str:
    """What the comparison comes to, in one sentence."""
    if any(row["changed"] for row in rows):
        return words["changed"]
    return words["same" if any(row["changed"] is False for row in rows) else "untold"]


def kept(rows: Rows) -> tuple[list[Mapping[str, Any]], int]:
    """Rows to show, and how many GPUs or nodes without a change are left out where there are many."""
    single = [row for row in rows if row["kind"] in {"gpu", "node"}]
    parts = list(dict.fromkeys(row["name"] for row in single))
    if len(parts) <= MOST_PARTS:
        return list(rows), 0
    changed = {row["name"] for row in single if row["changed"]}
    kept_rows = [row for row in rows if row["kind"] not in {"gpu", "node"} or row["name"] in changed]
    return kept_rows, len(parts) - len(changed)


def _table(rows: Rows, words: Mapping[str, str], *, noise: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    head, *body = _cells(rows, words, noise=noise)
    for number, each in enumerate(head):
        table.add_column(Text(each), justify="left" if number < 2 else "right")
    for cells, row in zip(body, rows, strict=True):
        table.add_row(*map(Text, cells), style="bold" if row["changed"] and not noise else "")
    return table


def _html(rows: Rows, words: Mapping[str, str], *, noise: bool) -> str:
    head, *body = _cells(rows, words, noise=noise)
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    lines = [
        "<tr>" + "".join(
            f"<td>{f'<b>{escape(cell)}</b>' if row['changed'] and not noise else escape(cell)}</td>" for cell in cells
        ) + "</tr>"
        for cells, row in zip(body, rows, strict=True)
    ]  # fmt: skip
    return (
        f'<div class="usage compared"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _cells(rows: Rows, words: Mapping[str, str], *, noise: bool) -> list[list[str]]:
    """Head and rows; a part is named in its first row."""
    heads = ("part", "figure", "before", "after", "change", *(["noise"] if noise else []))
    found = [[words[each] for each in heads]]
    before = ""
    for row in rows:
        part = f"{words[row['kind']]} {row['name']}".strip()
        cells = ["" if part == before else part, words[row["figure"]], _number(row["first"]), _number(row["second"])]
        found.append([*cells, _change(row), *([_number(row["noise"])] if noise else [])])
        before = part
    return found


def _change(row: Mapping[str, Any]) -> str:
    one, other = row["first"], row["second"]
    if one is None or other is None:
        return "·"
    if row["figure"].endswith("_pct"):
        return f"{other - one:+.1f}"
    return f"{100 * (other - one) / one:+.0f} %" if one else "·"


def _number(value: float | None) -> str:
    if value is None:
        return "·"
    if 0 < abs(value) < 1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
