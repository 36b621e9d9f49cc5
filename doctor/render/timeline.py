"""The metric time line on a terminal: a row of blocks for each metric, and below where each finding began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doctor.render import sparkline
from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console


_WIDEST, _NARROWEST, _NAME_MOST = 60, 16, 28
_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def draw_timeline(report: Mapping[str, Any], console: Console, words: Any, *, plain: bool) -> None:
    """Draw the metrics that matter; `plain`: the terminal has no blocks."""
    series = sparkline.chosen(report["series"])
    samples = [each for each in series if each["x"] == "sample"]
    _draw_group([each for each in series if each["x"] == "step"], report["findings"], console, words, plain=plain)
    _draw_group(samples, [], console, words, plain=plain)


def _draw_group(
    series: Sequence[Mapping[str, Any]], findings: Sequence[Mapping[str, Any]], console: Console, words: Any, *,
    plain: bool,
) -> None:  # fmt: skip
    """Metrics that share their horizontal axis."""
    if not series:
        return
    span = [min(each["span"][0] for each in series), max(each["span"][1] for each in series)]
    names = min(_NAME_MOST, max(len(each["name"]) for each in series))
    room = console.width - names - 4 - 22
    width = max(_NARROWEST, min(_WIDEST, room))
    title = words["timeline_title" if series[0]["x"] == "step" else "timeline_samples"]
    console.print()
    console.print(Text(title.format(first=span[0], last=span[1]), style="bold"))
    began = _began(findings)
    for each in series:
        console.print(_line(each, span, (names, width), began, words, plain=plain), soft_wrap=True)
    for step, ids in sorted(began.items()):
        _mark(console, step, ids, names + 4 + sparkline.column_of(step, span, width), words, plain=plain)


def _line(
    series: Mapping[str, Any], span: Sequence[int], sizes: tuple[int, int], began: Mapping[int, Any], words: Any, *,
    plain: bool,
) -> Text:  # fmt: skip
    """Name, blocks, first and last value; red from where the first finding about this metric began."""
    names, width = sizes
    mine = [step for step, findings in began.items() if {each["id"] for each in findings} & set(series["findings"])]
    cut = sparkline.column_of(min(mine), span, width) if mine else width
    blocks = sparkline.row(series, span, width, plain=plain)
    line = Text("  ")
    line.append(_shortened(series["name"], names, plain=plain).ljust(names + 2), style="cyan")
    line.append(blocks[:cut], style="green")
    line.append(blocks[cut:], style="red")
    line.append(f"  {_value(series['first'])} ", style="dim")
    line.append("-> " if plain else "→ ", style="dim")
    line.append(_value(series["last"]), style="" if series["last"] is not None else "red")
    if sparkline.is_logarithmic(series):
        line.append(f" {words['log_scale']}", style="dim")
    return line


def _mark(console: Console, step: int, findings: Sequence[Any], column: int, words: Any, *, plain: bool) -> None:
    """An arrow below the column where findings began; its words go to the left where the line would be too long."""
    text = words["began"].format(ids=", ".join(each["id"] for each in findings), step=step)
    style = _STYLES[findings[0]["severity"]]
    arrow = "^" if plain else "▲"
    line = Text(" " * column)
    line.append(arrow, style=style)
    line.append(f" {text}", style=style)
    if line.cell_len > console.width:
        line = Text(" " * max(0, column - Text(text).cell_len - 1))
        line.append(f"{text} {arrow}", style=style)
    console.print(line, soft_wrap=True)


def _began(findings: Sequence[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """Step -> findings that began there."""
    began: dict[int, list[Mapping[str, Any]]] = {}
    for each in findings:
        if (step := each["where"].get("step")) is not None:
            began.setdefault(step, []).append(each)
    return began


def _shortened(name: str, most: int, *, plain: bool) -> str:
    dots = "..." if plain else "…"
    return name if len(name) <= most else dots + name[len(dots) - most :]


def _value(value: float | None) -> str:
    return "nan" if value is None else f"{value:.3g}"
