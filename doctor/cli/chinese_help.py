"""`--help` of a single command in Chinese: click's own form, with the texts of `doctor/data/help_zh.json`."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

from doctor.catalogue.reasons import translated
from doctor.render.ink import Text, cell_len
from doctor.render.wrapping import wrapped

_HEADINGS = {"Options": "选项", "Commands": "命令"}
_PLACEHOLDERS = {"[OPTIONS]": "[选项]", "[ARGS]...": "[参数]..."}
#: what click adds to an option's help, and what of it is written in words
_EXTRA = re.compile(r"(?:(?:^|\s+)\[[^\]]*\])+$")
_EXTRA_WORDS = {
    "default: the working directory": "默认:工作目录",
    "default: ": "默认:",
    "required": "必填",
    "; ": ";",
    "] [": ";",
}
#: a line of a paragraph that is not re-wrapped: a command, and what it does
_EXAMPLE = re.compile(r"(?P<command>\S.*?)(?P<gap>\s{2,})(?P<does>\S.*)")
_RAW = "\b"
Command = TypeVar("Command", bound=click.Command)


def chinese(command: Command) -> Command:
    """The command with its help in Chinese; the one given stays as it is."""
    made = copy.copy(command)
    made.context_class = _Context
    return made


def paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """(whether lines stay as they are, lines) of a command's help."""
    for part in re.split(r"\n\s*\n", text):
        lines = [line for line in part.splitlines() if line.strip()]
        raw = bool(lines) and lines[0].strip("\n ") == _RAW
        if lines:
            yield raw, lines[1:] if raw else lines


def said_of_example(line: str) -> str:
    """What a line of examples says beside its command; empty where it is the command alone."""
    found = _EXAMPLE.fullmatch(line)
    return found["does"] if found else ""


def without_extra(text: str) -> str:
    """The help of an option without what click adds to it."""
    return _EXTRA.sub("", text)


class _Formatter(click.HelpFormatter):
    """Writes what click asks for in Chinese, whose characters take two columns each."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The line of usage."""
        for english, chinese_ in _PLACEHOLDERS.items():
            args = args.replace(english, chinese_)
        prefix = "用法:"
        wider = cell_len(prefix + args) - len(prefix + args)  # click counts characters
        self.width -= wider
        super().write_usage(prog, args, prefix)
        self.width += wider

    def write_heading(self, heading: str) -> None:
        """A heading of a section."""
        self.write(f"{'':>{self.current_indent}}{_HEADINGS.get(heading, heading)}:\n")

    def write_text(self, text: str) -> None:
        """What the command does, paragraph by paragraph."""
        written = []
        for raw, lines in paragraphs(text):
            shown = list(map(_example, lines)) if raw else self._wrapped(_in_chinese(" ".join(lines)), self.width)
            written.append("\n".join(f"{'':>{self.current_indent}}{line}".rstrip() for line in shown))
        self.write("\n\n".join(written) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options, or commands, each with what it does."""
        listed = [(first, _of_option(second)) for first, second in rows]
        column = min(max((cell_len(first) for first, _ in listed), default=0), col_max) + col_spacing
        for first, second in listed:
            lines = self._wrapped(second, max(self.width - self.current_indent - column, 10))
            beside = cell_len(first) <= column - col_spacing
            head = f"{first}{'':{column - cell_len(first)}}{lines.pop(0)}" if beside and lines else first
            self.write(f"{'':>{self.current_indent}}{head}\n")
            for line in lines:
                self.write(f"{'':>{self.current_indent + column}}{line}\n")

    def _wrapped(self, text: str, width: int) -> list[str]:
        lines = wrapped(Text(text), max(width - self.current_indent, 10))
        return [line.plain.strip() for line in lines]


class _Context(click.Context):
    formatter_class = _Formatter


def _in_chinese(text: str) -> str:
    return translated(" ".join(text.split()), "zh", "help")


def _example(line: str) -> str:
    found = _EXAMPLE.fullmatch(line)
    return f"{found['command']}{found['gap']}{_in_chinese(found['does'])}" if found else line


def _of_option(text: str) -> str:
    extra = _EXTRA.search(text)
    if extra is None:
        return _in_chinese(text)
    words = " ".join(extra.group().split())
    for english, chinese_ in _EXTRA_WORDS.items():
        words = words.replace(english, chinese_)
    return _in_chinese(without_extra(text)) + words
