"""Text on paper is what `rich` prints where there are no colours, and `rich` draws the same text with its colours."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len as measured
from rich.text import Text as RichText

from doctor.render import ink
from doctor.render.console import console_for, draw
from doctor.render.ink import Paper, Text
from doctor.render.terminal import terminal

WORDS = st.text(alphabet="ab  -/.\n\t\r·✗…é中, \u00a0\u3000\u200b\u0301🎉", max_size=80)
STYLES = st.sampled_from(["", "bold", "cyan", "dim"])
PARTS = st.lists(st.tuples(WORDS, STYLES), max_size=4)


def on_paper(text: str | Text, width: int, *, soft_wrap: bool) -> str:
    file = io.StringIO()
    Paper(file, width).print(text, soft_wrap=soft_wrap)
    return file.getvalue()


def by_rich(text: str | RichText | Text, width: int, *, soft_wrap: bool, color: bool = False) -> str:
    file = io.StringIO()
    terminal(file, color=color, width=width).print(text, soft_wrap=soft_wrap)
    return file.getvalue()


@given(WORDS, st.integers(5, 40), st.booleans())
def test_paper_holds_what_rich_prints(text: str, width: int, soft_wrap: bool) -> None:
    assert on_paper(text, width, soft_wrap=soft_wrap) == by_rich(text, width, soft_wrap=soft_wrap)
    assert on_paper(Text(text), width, soft_wrap=soft_wrap) == by_rich(RichText(text), width, soft_wrap=soft_wrap)


@given(PARTS, PARTS, STYLES, st.integers(0, 30), st.integers(0, 30))
def test_colours_are_those_of_rich(
    one: list[tuple[str, str]], other: list[tuple[str, str]], style: str, start: int, end: int
) -> None:
    ours, theirs = Text.assemble(*one), RichText.assemble(*one)
    more, of_rich = Text("x", style), RichText("x", style=style)
    for text, colour in other:
        more.append(text, colour)
        of_rich.append(text, style=colour)
    ours, theirs = ours + more, theirs + of_rich
    for mine, his in ((ours, theirs), (ours[start:end], theirs[start : max(start, end)])):
        mine.rstrip()
        his.rstrip()
        assert (mine.plain, mine.cell_len) == (his.plain, his.cell_len)
        assert by_rich(mine, 60, soft_wrap=True, color=True) == by_rich(his, 60, soft_wrap=True, color=True)


@given(WORDS, st.integers(5, 40))
def test_lines_are_broken_where_rich_breaks_them(text: str, width: int) -> None:
    lines = RichText(text).wrap(terminal(io.StringIO(), color=False, width=width), width)
    assert [each.plain.rstrip() for each in Text(text).wrapped(width)] == [each.plain.rstrip() for each in lines]


def test_control_sequences_are_no_text() -> None:
    told = "a \x1b[31mred\x1b[0m \x9b1m word\x00 \u202e"
    assert on_paper(told, 80, soft_wrap=False) == by_rich(told, 80, soft_wrap=False)
    assert "\x1b" not in on_paper(told, 80, soft_wrap=True)


def test_our_own_signs_take_one_column() -> None:
    assert {each for each in ink.SINGLE if measured(each) != 1} == set()


@given(WORDS)
def test_columns(text: str) -> None:
    assert ink.cell_len(text) == measured(text)


def test_a_table_is_drawn_on_the_same_paper() -> None:
    from rich.table import Table

    file = io.StringIO()
    paper = Paper(file, 40)
    table = Table(box=None)
    table.add_column("a")
    table.add_row(Text.assemble(("cell", "bold")))
    paper.print("before")
    paper.print(table)
    paper.print(Text("behind"))
    assert [line.strip() for line in file.getvalue().splitlines()] == ["before", "a", "cell", "behind"]
    assert paper.size.width == 40


class Closed(io.StringIO):
    """A pipe at whose end nobody reads."""

    def write(self, _text: str, /) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_read_enough_ends_the_printing(monkeypatch: pytest.MonkeyPatch) -> None:
    redirected: list[int] = []
    monkeypatch.setattr("os.dup2", lambda _, to: redirected.append(to))
    with pytest.raises(SystemExit):
        Paper(Closed(), 80).print("told")
    assert redirected == [sys.stdout.fileno()]


@pytest.mark.parametrize(
    ("variables", "color", "paper"),
    [
        ({}, None, True), ({}, False, True), ({}, True, False), ({"FORCE_COLOR": "1"}, None, False),
        ({"FORCE_COLOR": "1"}, False, True), ({"TTY_COMPATIBLE": "1"}, None, False), ({"COLUMNS": "x"}, None, False),
        ({"COLUMNS": "0"}, None, False), ({"COLUMNS": "60"}, None, True), ({"NO_COLOR": "1"}, None, True),
    ],
)  # fmt: skip
def test_where_there_is_paper(
    variables: dict[str, str], color: bool | None, paper: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    console = console_for(io.StringIO(), color=color)
    assert isinstance(console, Paper) is paper
    if paper:
        assert console.width == (60 if "COLUMNS" in variables else 100)


REPORT = {
    "command": "check", "target": {"summary": ["Python 3.11", "trl 0.14.0"]}, "findings": [], "skipped": [],
    "crashed": [], "summary": {"errors": 0, "warnings": 0, "checks_run": 3, "seconds": 0.1},
}  # fmt: skip


def test_a_report_on_paper_needs_no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in [each for each in sys.modules if each.partition(".")[0] == "rich"]:
        monkeypatch.setitem(sys.modules, name, None)  # an import of it raises
    file = io.StringIO()
    draw(REPORT, console_for(file))
    assert "3 checks" in file.getvalue()
