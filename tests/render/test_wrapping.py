"""Lines of Chinese text, mixed with names and commands."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from doctor.render.console import draw_markdown
from doctor.render.ink import Text
from doctor.render.wrapping import wrapped


def lines(text: str, width: int) -> list[str]:
    return [line.plain.rstrip() for line in wrapped(Text(text), width)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        # a line is filled, whatever the length of the clause behind the last blank
        ("会报 command not found,什么都不会启动。", 24, ["会报 command not found,", "什么都不会启动。"]),
        ("装到了另一个环境里。请激活", 20, ["装到了另一个环境里。", "请激活"]),
        # no line begins with what closes, none ends with what opens
        ("装到了另一个环境里。", 19, ["装到了另一个环境", "里。"]),
        ("使用半精度(bf16)", 11, ["使用半精度", "(bf16)"]),
        # a word of a name is not cut
        ("请用 bf16 代替 gradient_checkpointing", 24, ["请用 bf16 代替", "gradient_checkpointing"]),
        # what is longer than a line is
        ("见 abcdefghijklmnop", 8, ["见 abcde", "fghijklm", "nop"]),
        ("第一行\n\n第三行", 20, ["第一行", "", "第三行"]),
        # without an ideograph a line ends at a blank
        ("no ideograph in these words", 12, ["no ideograph", "in these", "words"]),
    ],
)
def test_where_lines_end(text: str, width: int, expected: list[str]) -> None:
    assert lines(text, width) == expected


@given(st.text(alphabet="ab _(),。:、中文错误《》\n ", max_size=60), st.integers(8, 30))
def test_nothing_is_lost_and_no_line_is_too_long(text: str, width: int) -> None:
    told = wrapped(Text("中" + text), width)
    assert "".join(line.plain for line in told) == ("中" + text).replace("\n", "")
    assert all(cell_len(line.plain.rstrip(" ")) <= width for line in told)


def test_colours_stay_with_their_words() -> None:
    text = Text("请把 ").append("gradient_accumulation_steps", style="cyan").append(" 写成相同的值")
    coloured = [line.plain[span.start : span.end] for line in wrapped(text, 30) for span in line.spans]
    assert coloured == ["gradient_accumulation_steps"]


def test_a_page_is_as_wide_as_the_terminal_wherever_its_source_breaks_lines() -> None:
    page = (
        "# X1\n\nOne sentence whose source\nbreaks here, and `goes on`.\n\n- first item, which is long enough to fold\n"
        "- second\n\n    code  stays\nhttps://example.org/a/very/long/address/that/is/not/folded\n"
    )
    screen = io.StringIO()
    draw_markdown(page, Console(file=screen, width=30, color_system=None))
    assert [line.rstrip() for line in screen.getvalue().splitlines()] == [
        "X1", "", "One sentence whose source", "breaks here, and goes on.", "", "- first item, which is long",
        "  enough to fold", "- second", "", "    code  stays",
        "https://example.org/a/very/long/address/that/is/not/folded", "",
    ]  # fmt: skip
