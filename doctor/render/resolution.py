"""Draws what `doctor fix env` found on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table

from doctor.base.redact import redact_text
from doctor.render.console import prose
from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "adds": "adds", "changes": "changes", "keeps": "keeps", "more": "{names} and {count} more",
        "fits": "Everything fits as it is; nothing has to change.",
        "limits": "Left out, and why", "mind": "In some uses", "unseen": "Could not be seen",
        "unmet": "No longer satisfied", "run": "To do it", "with": "with", "when": "when",
        "lost": "cannot be undone: no index offers {names} any more",
        "conflict": "No set of versions satisfies all of this.", "proof": "What the resolver says",
        "without": "Without `{wish}`, the rest can be satisfied:",
        "without_limits": "Possible with another driver or GPU:",
        "no_single": "Dropping any single requirement is not enough.",
        "nothing_new": "nothing changes",
        "slow": "The time limit ended before it was known whether the rest can be satisfied without `{wish}`.",
    },
    "zh": {
        "adds": "新增", "changes": "变更", "keeps": "保留", "more": "{names} 以及另外 {count} 个",
        "fits": "现有版本彼此相符,无需更改。",
        "limits": "排除的版本及原因", "mind": "在某些用法下", "unseen": "无法查看",
        "unmet": "将不再满足", "run": "执行命令", "with": "与", "when": "条件",
        "lost": "无法撤销:没有索引能再次提供 {names}",
        "conflict": "没有任何版本组合能同时满足全部要求。", "proof": "求解器的说明",
        "without": "去掉 `{wish}` 后,其余要求可以满足:", "without_limits": "换用其他驱动或 GPU 时有解:",
        "no_single": "只去掉任何一项要求都不够。",
        "nothing_new": "无需更改",
        "slow": "在限时内未能确定去掉 `{wish}` 后其余要求能否满足。",
    },
}  # fmt: skip
_NAMES_SHOWN = 12


@dataclass(frozen=True)
class SolutionChange:
    """What a solution does: names and versions, (name, old, new) of what is replaced."""

    added: tuple[tuple[str, str], ...] = ()
    replaced: tuple[tuple[str, str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Resolution:
    """Everything that is said about a solution.

    Args:
        title: the environment in a line.
        limits: (constraint, reason, link or "").
        mind: (versions, condition, cause).
        unseen, unmet: whole clauses.
        command: what to run; `prefix` the variables that it needs before it.
        lost: packages whose old version cannot be had again.

    """

    title: str
    change: SolutionChange
    limits: tuple[tuple[str, str, str], ...] = ()
    mind: tuple[tuple[str, str, str], ...] = ()
    unseen: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    prefix: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def draw(result: Resolution, console: Console, language: str) -> None:
    """Print a solution."""
    words = WORDS[language]
    console.print(Text(redact_text(result.title), style="dim"))
    console.print()
    _draw_change(result.change, console, words)
    _draw_limits(result.limits, console, words)
    if result.mind:
        console.print()
        console.print(Text(words["mind"], style="bold"))
        for versions, condition, cause in result.mind:
            console.print(
                Padding(Text(f"{versions}, {words['when']} {condition}", style="yellow"), (0, 0, 0, 2), expand=False)
            )
            console.print(Padding(prose(cause), (0, 0, 0, 4), expand=False))
    for key, lines in (("unmet", result.unmet), ("unseen", result.unseen)):
        if lines:
            console.print()
            console.print(Text(words[key], style="bold"))
            for line in lines:
                console.print(Padding(Text(redact_text(line)), (0, 0, 0, 2), expand=False))
    if result.command:
        console.print()
        console.print(Text(words["run"], style="bold"))
        assigned = [f"{name}={shlex.quote(redact_text(value))}" for name, value in result.prefix.items()]
        text = " ".join([*assigned, shlex.join(result.command)])
        console.print(Text(f"  {text}", style="green"), soft_wrap=True)
    if result.lost:
        console.print(Text(f"  {words['lost'].format(names=', '.join(result.lost))}", style="bold yellow"))


def draw_conflict(
    title: str, proof: str, ways: Iterable[tuple[str, SolutionChange | None]], limits: tuple[tuple[str, str, str], ...],
    console: Console, language: str,
) -> None:  # fmt: skip
    """Print why there is no solution, and which wish to give up."""
    words = WORDS[language]
    console.print(Text(redact_text(title), style="dim"))
    console.print()
    console.print(Text(words["conflict"], style="bold red"))
    console.print()
    console.print(Text(words["proof"], style="bold"))
    console.print(Padding(Text(redact_text(proof), style="dim"), (0, 0, 0, 2), expand=False))
    _draw_limits(limits, console, words)
    console.print()
    found = list(ways)
    for wish, change in found:
        if change is None:
            if wish:
                console.print(prose(words["slow"].format(wish=wish)))
            continue
        head = words["without"].format(wish=wish) if wish else words["without_limits"]
        console.print(prose(head))
        _draw_change(change, console, words, brief=True)
    if not found:
        console.print(words["no_single"])


def _draw_limits(limits: tuple[tuple[str, str, str], ...], console: Console, words: Mapping[str, str]) -> None:
    if not limits:
        return
    console.print()
    console.print(Text(words["limits"], style="bold"))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", max_width=console.width // 2)
    table.add_column()
    for constraint, reason, link in limits:
        said = Text(reason)
        if link:
            said.append(f"\n{link}", style="dim")
        table.add_row(constraint, said)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _draw_change(change: SolutionChange, console: Console, words: Mapping[str, str], *, brief: bool = False) -> None:
    if not change.added and not change.replaced:
        console.print(Text(f"  {words['nothing_new']}" if brief else words["fits"], style="green"))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    if change.replaced:
        lines = [f"{name} {old} -> {new}" for name, old, new in change.replaced]
        table.add_row(words["changes"], Text("\n".join(lines), style="yellow"))
    if change.added:
        table.add_row(words["adds"], Text(_some(change.added, words), style="green"))
    if change.kept and not brief:
        table.add_row(words["keeps"], _some(change.kept, words))
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _some(pairs: tuple[tuple[str, str], ...], words: Mapping[str, str]) -> str:
    names = ", ".join(f"{name} {version}" for name, version in pairs[:_NAMES_SHOWN])
    rest = len(pairs) - _NAMES_SHOWN
    return words["more"].format(names=names, count=rest) if rest > 0 else names
