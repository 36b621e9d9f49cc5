"""Draws a report on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from doctor.render.ink import Paper, Text, cell_len
from doctor.render.plain import Drawn, PlainOutput
from doctor.render.words import (
    WORDS,
    areas_of,
    blind_of,
    chain_of,
    commands_of,
    counted,
    echoes_of,
    judged_of,
    level_of,
    notes_of,
    place_in,
    quiet_of,
    source_of,
    told_once,
    verdict_of,
    without_command,
)
from doctor.render.wrapping import wrapped

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from doctor.render.ink import Console

_SIGNS = {"error": ("✗", "x", "bold red"), "warning": ("▲", "!", "bold yellow"), "info": ("·", "-", "bold blue")}
_UNKNOWN = "UNK"  # ids of answers that know no problem
_VERDICTS = {"error": "bold red", "warning": "bold yellow", "good": "bold green"}
_LABEL_COLUMNS = 8
_MOST_EXPLAINED = 12  # ids that the footer names
_SCROLLS = 3  # findings that fill a screen
_WIDEST = 110  # longer lines tire the eye


def console_for(stream: IO[str], *, color: bool | None = None) -> Console:
    """A console on `stream`; NO_COLOR and dumb terminals are respected, width is kept readable."""
    columns = os.environ.get("COLUMNS", "100")
    if _is_paper(stream, color) and columns.isdecimal() and int(columns):
        return Paper(_clean(stream), min(int(columns), _WIDEST))
    return rich_console_for(stream, color=color)


def rich_console_for(stream: IO[str], *, color: bool | None = None) -> RichConsole:
    """The same, drawn by `rich` wherever it leads."""
    from doctor.render.terminal import terminal

    console = terminal(_clean(stream), color=color)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 100
    console.width = min(console.width, _WIDEST)
    return console


def _clean(stream: IO[str]) -> Any:
    return Drawn(stream) if isinstance(stream, PlainOutput) else stream


def _is_paper(stream: IO[str], color: bool | None) -> bool:
    """Whether nobody sees colours there, and nobody asks for them: https://rich.readthedocs.io/en/stable/console.html."""
    if color is not None or any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE")):
        return color is False
    try:
        return not stream.isatty()
    except ValueError:  # it is closed
        return True
    except AttributeError:  # the program was started without it: `rich` knows where nothing goes
        return False


def draw(report: dict[str, Any], console: Console, *, language: str = "en", verbose: bool = False) -> None:
    """Findings in full, then one line of counts and what could not be judged."""
    words = WORDS[language]
    if verdict := verdict_of(report, words):
        console.print(Text(verdict, style=_VERDICTS[level_of(report)]))
    if report["target"]["summary"]:
        console.print(Text(" · ".join(report["target"]["summary"]), style="dim"))
    for told in judged_of(report, words):
        for part in _wrapped(Text(told, style="dim"), console, indent=0):
            console.print(part)
    for finding, echoes in told_once(report["findings"]):
        console.print()
        _draw_finding(finding, console, words, with_role="verdict" in report, echoes=echoes_of(echoes, words))
    _draw_crashed(report, console, words, verbose=verbose)
    _draw_chain(report, console, words)
    if report["findings"] and report.get("series"):
        from doctor.render import sparkline
        from doctor.render.timeline import draw_timeline

        draw_timeline(report, console, words, plain=not can_draw(console, sparkline.BLOCKS))
    if report.get("run"):
        from doctor.render.run_text import draw_run

        draw_run(report, console, language)
    if report.get("rehearsal"):
        from doctor.render.rehearsal import SIGNS, draw_rehearsal

        draw_rehearsal(report["rehearsal"], console, language, prose, fancy=can_draw(console, SIGNS))
    if report.get("nodes"):
        from doctor.render.matrix_text import draw_nodes

        console.print()
        draw_nodes(report["nodes"], console, language, verbose=verbose)
    console.print()
    _draw_counts(report, console, words, verbose=verbose)


def _draw_crashed(report: dict[str, Any], console: Console, words: Any, *, verbose: bool) -> None:
    """What failed in the doctor itself."""
    for crash in report["crashed"]:
        console.print()
        crashed = Text(words["crashed"].format(id=crash["id"], error=crash["error"]), style="magenta")
        for line in _wrapped(crashed, console, indent=0):
            console.print(line)
        if verbose:
            for line in _wrapped(Text(crash["traceback"], style="dim"), console, indent=0):
                console.print(line)


def _draw_chain(report: dict[str, Any], console: Console, words: Any) -> None:
    """What happened, process by process, in order of time."""
    steps = chain_of(report, words)
    if not steps:
        return
    console.print()
    console.print(Text(words["chain_title"], style="bold"))
    width = max(len(who) for _, who, _, _ in steps)
    clocks = max(len(clock) for clock, _, _, _ in steps)
    for clock, who, what, place in steps:
        line = Text("  ")
        line.append(f"{clock.ljust(clocks)} " if clocks else "", style="dim")
        line.append(who.ljust(width + 2), style="cyan")
        line.append(what)
        mark = Text(place, style="dim")
        fits = line.cell_len + 2 + mark.cell_len <= console.width
        console.print(line + Text("  ") + mark if fits else line, soft_wrap=True)
        if not fits:  # on a line of its own, whole, so that it can be copied
            console.print(Text("    ") + mark, soft_wrap=True)


def _draw_finding(
    finding: Mapping[str, Any], console: Console, words: Any, *, with_role: bool, echoes: str = ""
) -> None:
    sign, plain, style = _SIGNS[finding["severity"]]
    title = Text.assemble((f"{sign if can_draw(console, '✗▲·') else plain} {finding['id']}", style))
    title.append(f" {finding['name']}", style="bold")
    if with_role:
        title.append(f"  {words[finding['role']]}", style="italic")
    place = place_in(finding, words)
    room = console.width - title.cell_len - len(place) - 1
    if place and room > 0:
        title.append(" " * room + " ")
        title.append(place, style="cyan")
    console.print(title, soft_wrap=True)
    if place and room <= 0:
        console.print(Text("  ") + _said_only(Text(place, style="cyan")), soft_wrap=True)
    for line in _wrapped(prose(finding["headline"], "bold"), console, indent=2):
        console.print(line)
    for note in notes_of(finding, words):
        console.print(Text("  ") + prose(note, "italic"))
    for told in finding.get("cards", ()):
        for line in _wrapped(prose(told, "dim"), console, indent=4):
            console.print(line)
    quotes = list(finding["evidence"])
    if quotes and finding["id"].startswith(_UNKNOWN):  # where nothing is known, the program's own sentence comes first
        _quoted(console, words["seen"], quotes.pop(0), words)
    _labelled(console, words["why"], prose(finding["explanation"]))
    _labelled(console, words["do"], prose(finding["remedy"]["text"]))
    for command in commands_of(finding, words):
        _command(console, command)
    for number, evidence in enumerate(quotes):
        _quoted(console, words["seen"] if number == 0 else "", evidence, words)
    if echoes:
        _labelled(console, words["more"], Text(echoes, style="dim"))


def _quoted(console: Console, label: str, evidence: Mapping[str, Any], words: Any) -> None:
    text = Text.assemble((f"{source_of(evidence, words)}  ", "dim"))
    text.append(evidence["text"])
    _labelled(console, label, text)


def can_draw(console: Console, signs: str) -> bool:
    """Whether the terminal's encoding has these characters."""
    try:
        signs.encode(console.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def prose(text: str, style: str = "") -> Text:
    """Text whose `backticked` names are set off by colour; nothing in it is read as markup."""
    out = Text(style=style)
    for number, part in enumerate(text.split("`")):
        out.append(part, style="cyan" if number % 2 else "")
    return out


def _labelled(console: Console, label: str, text: Text) -> None:
    lines = list(_wrapped(text, console, indent=_LABEL_COLUMNS))
    for number, line in enumerate(lines):
        if number == 0 and label:
            head = Text.assemble((f"  {label}", "dim"))
            head.append(" " * max(1, _LABEL_COLUMNS - head.cell_len))
            line = head + line[_LABEL_COLUMNS:]  # noqa: PLW2901 - the label takes the place of the indent
        console.print(line)


def _wrapped(text: Text, console: Console, *, indent: int) -> Iterator[Text]:
    for line in wrapped(text, max(20, console.width - indent)):
        line.rstrip()
        yield Text(" " * indent) + _said_only(line)


def _said_only(line: Text) -> Text:
    """A line that starts with `::` is a command to GitHub's runner, wherever it comes from: a backslash undoes it."""
    return Text("\\") + line if line.plain.lstrip().startswith("::") else line


def _command(console: Console, command: str) -> None:
    """A command is never wrapped by us, so that it can be pasted as it stands."""
    for line in command.splitlines():
        console.print(Text(" " * _LABEL_COLUMNS) + _said_only(Text(line, style="green")), soft_wrap=True)


def _draw_counts(report: dict[str, Any], console: Console, words: Any, *, verbose: bool) -> None:
    if not report["findings"] and not report["crashed"] and "verdict" not in report:
        console.print(Text(quiet_of(report, words), style="bold green"))
    console.print(counted(report, words))
    _draw_footer(report, console, words)
    if areas := areas_of(report, words):
        for part in _wrapped(Text(areas, style="dim"), console, indent=0):
            console.print(part)
    if verbose:
        _draw_skips(report["skipped"], console, words)
    elif line := blind_of(report, words):
        for part in _wrapped(Text(line, style="dim"), console, indent=0):
            console.print(part)
    if waiting := without_command(report["skipped"]):
        for part in _wrapped(prose(words["no_command"].format(count=waiting), "dim"), console, indent=0):
            console.print(part)
    ignored = [
        f"{each['id']} ({each['reason'].removeprefix('ignored: ').removeprefix('已忽略:')})"
        for each in report["skipped"]
        if each.get("ignored")
    ]
    if ignored and not verbose:
        console.print(Text(words["ignored"].format(ids=", ".join(ignored)), style="dim"))
    if console.is_terminal:
        _draw_closing(report, console, words)


def _draw_footer(report: dict[str, Any], console: Console, words: Any) -> None:
    """Where the manuals of the findings are: once, not at each of them."""
    ids = list(dict.fromkeys(each["id"] for each, _ in told_once(report["findings"])))
    if ids:
        shown = " ".join(ids[:_MOST_EXPLAINED]) + (" …" if len(ids) > _MOST_EXPLAINED else "")
        for part in _wrapped(prose(words["footer"].format(ids=shown), "dim"), console, indent=0):
            console.print(part)


def _draw_closing(report: dict[str, Any], console: Console, words: Any) -> None:
    """On a terminal the errors once more, headlines only: the first of them has scrolled away."""
    findings = [finding for finding, _ in told_once(report["findings"])]
    errors = [each for each in findings if each["severity"] == "error"]
    if len(findings) < _SCROLLS or not errors:
        return
    console.print()
    console.print(Text(words["closing_title"], style="bold"))
    for each in errors:
        line = Text.assemble((f"{each['id']} ", "bold red"), prose(each["headline"]))
        for number, part in enumerate(wrapped(line, max(20, console.width - 4))):
            part.rstrip()
            console.print(Text(" " * (4 if number else 2)) + _said_only(part))


def _draw_skips(skipped: list[dict[str, Any]], console: Console, words: Any) -> None:
    if skipped:
        console.print()
        console.print(Text(words["skipped_title"], style="bold"))
    for each in skipped:
        console.print(Text.assemble((f"  {each['id']}  ", "dim"), each["reason"]), soft_wrap=True)


def draw_markdown(text: str, console: Console) -> None:
    """A manual page on the terminal, its paragraphs as wide as that; an address on its own line stays clickable."""
    for line in _paragraphs(text):
        if line.startswith("# "):
            console.print(Text(line[2:], style="bold"))
        elif line.startswith("## "):
            console.print(Text(line[3:], style="bold cyan"))
        elif line.startswith(_KEPT):
            console.print(Text(line), soft_wrap=True)
        else:
            item = line.startswith("- ")
            for number, part in enumerate(_wrapped(prose(line[2:] if item else line), console, indent=2 * item)):
                console.print(Text("- ") + part[2:] if item and not number else part)


#: lines that are printed as they stand: code, addresses
_KEPT = ("    ", "https://", "http://")


def _paragraphs(text: str) -> Iterator[str]:
    """Lines of a page, those of one paragraph or item of a list as one."""
    held: list[str] = []
    for line in [*text.splitlines(), ""]:
        if held and (not line or line.startswith(("#", "- ", *_KEPT))):
            yield " ".join(held)
            held = []
        if not line or line.startswith(("#", *_KEPT)):
            yield line
        else:
            held.append(line.strip())


#: columns of the terminal that the last cell of a table needs, which folds; fewer, and each row is drawn as lines
_LAST_CELL = 16


def draw_fixable(findings: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Findings that have a fix: what to type after `doctor fix`, then the headline."""
    for each in findings:
        console.print(Text.assemble("  ", (each["remedy"]["fix"], "bold"), f" {each['name']}"), soft_wrap=True)
        for part in _wrapped(prose(each["headline"]), console, indent=4):
            console.print(part)


def draw_table(rows: Sequence[tuple[str, ...]], header: tuple[str, ...], console: Console) -> None:
    """A plain table without rules; the last column folds. No cell is cut: in a narrow terminal each has a line."""
    from rich.table import Table

    firm = sum(max(cell_len(row[column]) for row in (header, *rows)) + 2 for column in range(len(header) - 1))
    if firm + _LAST_CELL > console.width:
        _draw_lines(rows, header, console)
        return

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in header[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(header[-1], overflow="fold")
    for row in rows:
        table.add_row(*(prose(cell) for cell in row))
    console.print(table)


def _draw_lines(rows: Sequence[tuple[str, ...]], header: tuple[str, ...], console: Console) -> None:
    """A table whose rows are too wide: the first cell, then a line for each other one."""
    from rich.cells import set_cell_size

    names = max(cell_len(name) for name in header[1:])
    for row in rows:
        console.print(prose(row[0]), soft_wrap=True)
        for name, cell in zip(header[1:], row[1:], strict=True):
            line = Text(f"  {set_cell_size(name, names)}  ", style="dim")
            console.print(Text.assemble(line, prose(cell)), soft_wrap=True)
