"""Which functions call each other without an end, from the frames of a `RecursionError`, and in which way they do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.logs.failures import expressions as line
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.wordings import Shown

#: through which an object passes on what it is asked for to another one
_PASSING = frozenset({"__getattr__", "__getattribute__"})
_MOST_SHOWN = 3


def circle_of(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames that repeat themselves, each once, in the order of their calls; none where none stands there twice."""
    last: dict[tuple[str, int, str], int] = {}
    circle: tuple[Frame, ...] = ()
    for place, frame in enumerate(frames):
        key = (frame.path, frame.line, frame.function)
        if key in last:
            circle = tuple(frames[last[key] : place])
        last[key] = place
    return circle


def shown_by(frames: Sequence[Frame]) -> tuple[Shown, Frame] | None:
    """In which way they call each other, and the frame that tells it; None where no frame repeats itself."""
    circle = circle_of(frames)
    if not circle:
        return None
    last = circle[-1]
    functions = list(dict.fromkeys(each.function for each in circle))
    if set(functions) <= _PASSING:
        files = list(dict.fromkeys(f"{each.package or each.path}:{each.line}" for each in circle))
        subject = _passed_to(last.code)
        return Shown("recursion_wrapped" if len(files) > 1 else "recursion_attribute", subject=subject), last
    if len(circle) > 1 and len(functions) > 1:
        shown = " → ".join(f"{each}()" for each in functions[:_MOST_SHOWN])
        return Shown("recursion_circle", name=functions[0], subject=f"{shown} → {functions[0]}()"), last
    called = [line.name_of(each.func) for each in line.calls(line.parsed(last.code))]
    if last.function in called or not called:
        return Shown("recursion_itself", name=last.function), last
    return Shown("recursion_replaced", name=last.function, of=called[0]), last


def _passed_to(code: str) -> str:
    """What `getattr(self.model, name)` asks next."""
    match = re.search(r"\bgetattr\((?P<of>[\w.]{1,60}),", code)
    return match["of"] if match else ""
