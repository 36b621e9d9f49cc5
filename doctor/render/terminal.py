"""The console of `rich` that draws for a terminal, and tables anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from doctor.render.plain import plain


class _PlainConsole(Console):
    """A console whose text holds no control sequences, whatever it quotes; its colours are its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Give the segments of a renderable, their text cleaned."""
        for each in super().render(renderable, options):
            yield each if each.control else Segment(plain(each.text), each.style)


def terminal(file: IO[str] | Any, *, color: bool | None = None, width: int | None = None) -> Console:
    """A console on a stream; NO_COLOR and dumb terminals are respected.

    Args:
        file: where it draws.
        color: whether the stream counts as a terminal; None where it says so itself.
        width: in columns; None: the terminal's.

    """
    return _PlainConsole(
        file=file, highlight=False, emoji=False, markup=False, force_terminal=color, soft_wrap=False, width=width
    )
