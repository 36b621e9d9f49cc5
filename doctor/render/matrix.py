"""Draws the nodes of a cluster side by side: groups of equal nodes as columns, rows that tell them apart.

Column A is the largest group. A dot means "as in A", a question mark "not seen", a blank "not compared" (a node
without GPUs). Many groups are drawn in blocks of as many columns as fit, each beside A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any
from unicodedata import east_asian_width

from doctor.base.record import record

SAME, UNSEEN = "·", "?"
_GROUPS_SHOWN, _ROWS_SHOWN = 12, 40
_NAME_WIDTH, _CELL_WIDTH = 30, 24
_AREAS = ("software", "gpu", "network", "host", "files", "launch", "ray", "environment")

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "nodes, side by side",
        "heard": "{heard:,} of {asked:,} nodes answered · {readings} readings compared, {alike} alike on all of them",
        "alike": "{heard:,} nodes are alike in all {readings} readings that were compared",
        "alike_partly": "{heard:,} of {asked:,} nodes answered, alike in all {readings} readings that were compared",
        "alone": "{heard:,} of {asked:,} nodes answered: there is nothing to compare with",
        "largest": "most nodes", "largest_no_majority": "largest group",
        "silent": "no answer", "died": "lost", "missing": "left no facts", "failed": "could not look",
        "more_groups": "and {groups} more groups of {nodes} nodes: --verbose, or --format json",
        "more_rows": "and {rows} more rows: --verbose, or --format json",
        "alike_title": "alike on all nodes",
        "same": "as in A",
        "legend": "{same} as in A · {unseen} not seen",
        "software": "software", "gpu": "GPU", "network": "network", "host": "host", "files": "files",
        "launch": "launch", "ray": "Ray", "environment": "environment",
    },
    "zh": {
        "title": "各节点对照",
        "heard": "{asked:,} 个节点中 {heard:,} 个已应答 · 比较了 {readings} 项,其中 {alike} 项全部一致",
        "alike": "{heard:,} 个节点在比较的 {readings} 项上全部一致",
        "alike_partly": "{asked:,} 个节点中 {heard:,} 个已应答,在比较的 {readings} 项上全部一致",
        "alone": "{asked:,} 个节点中 {heard:,} 个已应答,无从比较",
        "largest": "多数节点", "largest_no_majority": "最大的一组",
        "silent": "未应答", "died": "已丢失", "missing": "没有留下信息", "failed": "无法检查自身",
        "more_groups": "另有 {groups} 组共 {nodes} 个节点:--verbose 或 --format json",
        "more_rows": "另有 {rows} 行:--verbose 或 --format json",
        "alike_title": "所有节点一致的项",
        "same": "与 A 相同",
        "legend": "{same} 与 A 相同 · {unseen} 未见",
        "software": "软件", "gpu": "GPU", "network": "网络", "host": "主机", "files": "文件",
        "launch": "启动", "ray": "Ray", "environment": "环境变量",
    },
}  # fmt: skip


@record
class Block:
    """Some groups beside the first: their columns, and (area, name, cells, which of them depart) of each row."""

    columns: tuple[Mapping[str, Any], ...]
    rows: tuple[tuple[str, str, tuple[str, ...], tuple[bool, ...]], ...]
    rows_left: int = 0


def headline(nodes: Mapping[str, Any], language: str) -> str:
    """What there is to say in one line."""
    words = WORDS[language]
    readings = len(nodes["rows"]) + len(nodes["alike"])
    numbers = {"asked": nodes["asked"], "heard": nodes["heard"], "readings": readings, "alike": len(nodes["alike"])}
    if nodes["heard"] < 2:
        return words["alone"].format(**numbers)
    if nodes["rows"]:
        return words["heard"].format(**numbers)
    return words["alike" if nodes["heard"] == nodes["asked"] else "alike_partly"].format(**numbers)


def group_lines(nodes: Mapping[str, Any], language: str, *, verbose: bool) -> Iterator[tuple[str, int, str, str]]:
    """(label, number of nodes, names, remark) of each group, then of the nodes that were not heard."""
    words = WORDS[language]
    shown = nodes["groups"] if verbose else nodes["groups"][:_GROUPS_SHOWN]
    for number, group in enumerate(shown if nodes["rows"] else ()):
        yield group["label"], group["count"], group["names"], _remark(nodes, words) if number == 0 else ""
    for each in nodes["states"]:
        reason = f": {each['reason']}" if each["reason"] else ""
        yield "", each["count"], each["names"], f"{words[each['state']]}{reason}"


def _remark(nodes: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """What the first group is: most nodes, the largest group, or one of several that are as large."""
    first, *others = nodes["groups"]
    if 2 * first["count"] > nodes["heard"]:
        return words["largest"]
    return words["largest_no_majority"] if all(each["count"] < first["count"] for each in others) else ""


def left_over(nodes: Mapping[str, Any], language: str, *, verbose: bool) -> str:
    """How many groups are not shown; empty where all are."""
    rest = [] if verbose or not nodes["rows"] else nodes["groups"][_GROUPS_SHOWN:]
    count = sum(each["count"] for each in rest)
    return WORDS[language]["more_groups"].format(groups=len(rest), nodes=count) if rest else ""


def blocks(nodes: Mapping[str, Any], width: int, *, verbose: bool) -> Iterator[Block]:
    """Blocks of groups that fit into `width` columns beside the names of rows and the largest group."""
    groups = nodes["groups"] if verbose else nodes["groups"][:_GROUPS_SHOWN]
    if not nodes["rows"] or len(groups) < 2:
        return
    rest = groups[1:]
    while rest:
        count = next(
            n for n in range(len(rest), 0, -1) if n == 1 or _width(_block(nodes, groups[0], rest[:n])) <= width
        )
        block = _block(nodes, groups[0], rest[:count])
        left = 0 if verbose else max(0, len(block.rows) - _ROWS_SHOWN)
        yield Block(block.columns, block.rows[: len(block.rows) - left], left)
        rest = rest[count:]


def _block(nodes: Mapping[str, Any], first: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Block:
    rows = []
    for row in sorted(nodes["rows"], key=lambda each: _AREAS.index(each["area"])):
        usual = row["cells"][first["label"]]
        cells = [row["cells"][each["label"]] for each in others]
        if any(cell != usual for cell in cells if cell is not None):
            shown = [SAME if cell == usual else _short(cell) for cell in cells]
            departs = tuple(_departs(cell, row["majority"], usual) for cell in (usual, *cells))
            rows.append((row["area"], row["name"], (_short(usual), *shown), departs))
    return Block((first, *others), tuple(rows))


def _departs(cell: str | None, majority: str | None, first: str | None) -> bool:
    """Whether a cell is not as most nodes have it; where there is no majority, not as the first group has it."""
    return cell not in {None, UNSEEN, first if majority is None else majority}


def _short(cell: str | None) -> str:
    """A value that fits its column; of a long one both ends, for paths differ at either."""
    if cell is None or len(cell) <= _CELL_WIDTH:
        return cell or ""
    half = (_CELL_WIDTH - 1) // 2
    return f"{cell[:half]}…{cell[-half:]}"


def widths(block: Block) -> tuple[int, list[int]]:
    """Width of the names, and of each column."""
    name = max([8, *(min(_NAME_WIDTH, cells_of(row[1])) for row in block.rows)])
    heads = [cells_of(head(each)) for each in block.columns]
    return name, [max([heads[i], *(cells_of(row[2][i]) for row in block.rows)]) for i in range(len(heads))]


def cells_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for each Chinese character."""
    return len(text) + sum(east_asian_width(each) in "WF" for each in text)


def head(group: Mapping[str, Any]) -> str:
    """`A ×997`."""
    return f"{group['label']} ×{group['count']}"


def _width(block: Block) -> int:
    name, columns = widths(block)
    return 4 + name + sum(2 + each for each in columns)


def markdown(nodes: Mapping[str, Any], language: str) -> list[str]:
    """Lines of Markdown: the groups as a list, the matrix as one table."""
    words = WORDS[language]
    lines = [f"### {words['title']}", "", headline(nodes, language), ""]
    for label, count, names, remark in group_lines(nodes, language, verbose=False):
        lines.append(
            "- " + " · ".join(each for each in (f"**{label}**" if label else "", f"×{count}", names, remark) if each)
        )
    more = left_over(nodes, language, verbose=False)
    lines += [*([f"- {more}"] if more else []), ""]
    for block in blocks(nodes, 10_000, verbose=False):
        lines.append("| " + " | ".join(["", *(head(each) for each in block.columns)]) + " |")
        lines.append("|---" * (len(block.columns) + 1) + "|")
        for _, name, cells, _ in block.rows:
            lines.append("| " + " | ".join(_cell(each) for each in (name, *cells)) + " |")
        lines += ["", *([words["more_rows"].format(rows=block.rows_left), ""] if block.rows_left else [])]
        lines += [words["legend"].format(same=SAME, unseen=UNSEEN), ""]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(nodes: Mapping[str, Any], language: str) -> str:
    """HTML: the groups, the matrix that scrolls sideways in itself, and what is alike folded away."""
    words = WORDS[language]
    items = "".join(
        f"<tr><td><b>{escape(label)}</b></td><td>{count:,}</td><td class='place'>{escape(names)}</td>"
        f"<td>{escape(remark)}</td></tr>"
        for label, count, names, remark in group_lines(nodes, language, verbose=True)
    )
    tables = "".join(_table(block, words) for block in blocks(nodes, 10**6, verbose=True))
    alike = "".join(
        f"<tr><td>{escape(each['name'])}</td><td>{escape(each['value'])}</td></tr>" for each in nodes["alike"]
    )
    return (
        f"<section class='nodes'><h2>{escape(words['title'].capitalize())}</h2>"
        f"<p>{escape(headline(nodes, language))}</p>"
        f"<table>{items}</table>{tables}"
        + (
            f"<details><summary>{escape(words['alike_title'])}</summary><table>{alike}</table></details>"
            if alike
            else ""
        )
        + "</section>"
    )


STYLE = """
.nodes > table td:nth-child(-n+2) { white-space: nowrap; } .nodes > table td:nth-child(4) { min-width: 8rem; }
.nodes .matrix { overflow-x: auto; margin: .8rem 0; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card); max-height: 40rem; }
.nodes .matrix table { border-collapse: collapse; min-width: 100%; }
.nodes .matrix th, .nodes .matrix td { padding: .25rem .8rem; text-align: left; white-space: nowrap; font-size: .88rem;
  border-bottom: 1px solid var(--line); overflow-wrap: normal; }
.nodes .matrix thead th { position: sticky; top: 0; background: var(--card); }
.nodes .matrix th:first-child { position: sticky; left: 0; background: var(--card); font-weight: 500; }
.nodes .matrix tr.area th { color: var(--soft); font-size: .8rem; font-weight: 600; padding-top: .7rem; }
.nodes .matrix td.other { color: var(--warning); font-weight: 600; } .nodes .matrix td.same { color: var(--soft); }
"""


def _table(block: Block, words: Mapping[str, str]) -> str:
    heads = "".join(
        f"<th title='{escape(each['names'], quote=True)}'>{escape(head(each))}</th>" for each in block.columns
    )
    body, area = [], ""
    for row_area, name, cells, departs in block.rows:
        if row_area != area:
            area = row_area
            body.append(f"<tr class='area'><th colspan='{len(cells) + 1}'>{escape(words[area])}</th></tr>")
        kinds = [
            "other" if own else "same" if cell in {SAME, UNSEEN, ""} else ""
            for cell, own in zip(cells, departs, strict=True)
        ]
        shown = "".join(f"<td class='{kind}'>{escape(cell)}</td>" for kind, cell in zip(kinds, cells, strict=True))
        body.append(f"<tr><th>{escape(name)}</th>{shown}</tr>")
    legend = escape(words["legend"].format(same=SAME, unseen=UNSEEN))
    return (
        f"<div class='matrix'><table><thead><tr><th></th>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
        f"<p><small>{legend}</small></p>"
    )
