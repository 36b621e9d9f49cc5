"""The nodes side by side on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doctor.render import matrix
from doctor.render.ink import Text
from doctor.render.matrix import Block
from doctor.render.wrapping import wrapped

if TYPE_CHECKING:
    from doctor.render.ink import Console


_QUIET = frozenset({matrix.SAME, matrix.UNSEEN, ""})
_LINE = 3  # lines that the names of a group may take


def draw_nodes(nodes: Mapping[str, Any], console: Console, language: str, *, verbose: bool) -> None:
    """Groups, then the matrix in blocks that fit the width, then what is alike where that is asked for."""
    words = matrix.WORDS[language]
    console.print(Text(words["title"], style="bold"))
    console.print(Text(f"  {matrix.headline(nodes, language)}"), soft_wrap=True)
    _draw_groups(nodes, console, language, verbose=verbose)
    drawn = list(matrix.blocks(nodes, console.width, verbose=verbose))
    for block in drawn:
        console.print()
        _draw_block(block, console, words)
        if block.rows_left:
            console.print(Text(f"    {words['more_rows'].format(rows=block.rows_left)}", style="dim"))
    if drawn:
        console.print(Text(f"  {words['legend'].format(same=matrix.SAME, unseen=matrix.UNSEEN)}", style="dim"))
    if verbose and nodes["alike"]:
        console.print()
        console.print(Text(words["alike_title"], style="bold"))
        for each in nodes["alike"]:
            console.print(Text.assemble((f"  {each['name']}  ", "dim"), each["value"]), soft_wrap=True)


def _draw_groups(nodes: Mapping[str, Any], console: Console, language: str, *, verbose: bool) -> None:
    lines = list(matrix.group_lines(nodes, language, verbose=verbose))
    if not lines:
        return
    label = max(len(each[0]) for each in lines)
    count = max(len(f"{each[1]:,}") for each in lines)
    indent = 2 + label + 2 + count + 2
    for name, number, names, remark in lines:
        text = Text(names)
        if remark:
            text.append(f"  {remark}", style="dim" if name else "yellow")
        head = Text(f"  {name.ljust(label)}  {f'{number:,}'.rjust(count)}  ", style="bold cyan")
        told = wrapped(text, max(20, console.width - indent))
        for at, line in enumerate(told[:_LINE]):
            line.rstrip()
            console.print(Text.assemble(head if at == 0 else " " * indent, line))
        if len(told) > _LINE:
            console.print(Text(" " * indent + "…", style="dim"))
    if more := matrix.left_over(nodes, language, verbose=verbose):
        console.print(Text(f"  {more}", style="dim"))


def _draw_block(block: Block, console: Console, words: Mapping[str, str]) -> None:
    name_width, columns = matrix.widths(block)
    heads = "  ".join(matrix.head(each).ljust(width) for each, width in zip(block.columns, columns, strict=True))
    console.print(Text(f"    {' ' * name_width}  {heads}".rstrip(), style="bold cyan"), soft_wrap=True)
    area = ""
    for row_area, name, cells, departs in block.rows:
        if row_area != area:
            area = row_area
            console.print(Text(f"  {words[area]}", style="dim"))
        line = Text(f"    {_fit(name, name_width)}  ")
        for cell, width, departing in zip(cells, columns, departs, strict=True):
            line.append(cell, style="bold yellow" if departing else "dim" if cell in _QUIET else "")
            line.append(" " * (width - matrix.cells_of(cell) + 2))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _fit(name: str, width: int) -> str:
    """A name in its column; of a long one the end, which tells paths apart."""
    room = width - matrix.cells_of(name)
    if room >= 0:
        return name + " " * room
    while matrix.cells_of(name) > width - 1:
        name = name[1:]
    return f"…{name}".ljust(width)
