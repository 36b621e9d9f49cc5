"""Draws runs: all of a folder, or two beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doctor.render.console import draw_table
from doctor.render.ink import Text, cell_len

if TYPE_CHECKING:
    from doctor.render.ink import Console


#: lines of a file are drawn in these colours
_COLOURS = {"-": "red", "+": "green"}

#: columns of the terminal that a command needs beside the other cells, and those between two cells
_COMMAND, _GAP = 24, 2


def draw_runs(rows: Sequence[tuple[str, ...]], header: tuple[str, ...], console: Console) -> None:
    """A row a run, or two lines where that is too narrow for a row: the name of a run is typed, so it is never cut.

    Args:
        rows: name, verdict, time, best metric and command of each run.
        header: of these.
        console: where to.

    """
    cells = [max(cell_len(row[column]) + _GAP for row in (header, *rows)) for column in range(len(header) - 1)]
    if sum(cells) + _COMMAND <= console.width:
        draw_table(rows, header, console)
        return
    for name, *others, best, command in rows:
        console.print(Text.assemble((name, "cyan"), f"  {_joined(*others)}"), soft_wrap=True)
        console.print(Text(f"  {_joined(best, command)}", style="dim"), soft_wrap=True)


def _joined(*cells: str) -> str:
    """Cells in one line; one that is not known is a dot alone."""
    return " · ".join(each for each in cells if each != "·")


def draw_compared(found: Mapping[str, Any], words: Mapping[str, str], console: Console) -> None:
    """What changed part by part, then the metrics.

    Args:
        found: as `doctor.logs.history.compared.Compared.as_data` gives it.
        words: of one language.
        console: where to.

    """
    console.print(Text(f"{found['old']['name']} → {found['new']['name']}", style="bold"))
    states = [" · ".join(part for part in (words[each["state"]], each["verdict"]) if part)
              for each in (found["old"], found["new"])]  # fmt: skip
    console.print(Text(" → ".join(states), style="dim"))
    part = ""
    for change in found["changes"]:
        if change["part"] != part:
            part = change["part"]
            console.print()
            console.print(Text(words[part], style="bold cyan"))
        _draw_change(change, console)
    if not found["changes"]:
        console.print()
        console.print(words["same"])
    console.print()
    _draw_metrics(found, words, console)
    for what, why in _folded(found["unknown"]).items():
        told = words["not_known"].format(what=", ".join(words[each] for each in why), why=what)
        console.print(Text(told, style="dim"))


def _folded(unknown: Mapping[str, str]) -> dict[str, list[str]]:
    """Reason -> parts."""
    found: dict[str, list[str]] = {}
    for part, why in unknown.items():
        found.setdefault(why, []).append(part)
    return found


def _draw_change(change: Mapping[str, Any], console: Console) -> None:
    line = Text("  ")
    line.append(change["name"], style="cyan")
    if change["old"] is not None or change["new"] is not None:
        line.append(f"  {change['old'] or '-'} → {change['new'] or '-'}")
    console.print(line, soft_wrap=True)
    for each in change.get("lines", ()):
        console.print(Text(f"    {each}", style=_COLOURS.get(each[:1], "dim")), soft_wrap=True)


def _draw_metrics(found: Mapping[str, Any], words: Mapping[str, str], console: Console) -> None:
    if not found["departed"]:
        told = words["alike"].format(count=found["shared_metrics"]) if found["shared_metrics"] else words["no_metrics"]
        console.print(told)
        return
    console.print(Text(words["departed"], style="bold cyan"))
    for each in found["departed"]:
        console.print(Text.assemble("  ", (each["name"], "cyan"), "  ", words["from"].format(**each)), soft_wrap=True)
