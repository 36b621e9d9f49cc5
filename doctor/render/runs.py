"""Draws two runs beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

#: lines of a file are drawn in these colours
_COLOURS = {"-": "red", "+": "green"}


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
