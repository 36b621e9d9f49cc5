"""Takes the stacks of py-spy, pystack, faulthandler and torch's watchdog out of a text, with whose they are.

Forms: https://github.com/benfred/py-spy (`dump`), https://docs.python.org/3/library/faulthandler.html,
https://github.com/bloomberg/pystack, and torch's "Stack trace of the failed collective"
(https://github.com/pytorch/pytorch/blob/v2.9.0/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp). A traceback, whose
innermost frame comes last, is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from doctor.base.patterns import later
from doctor.base.record import mutable, record
from doctor.logs.lines.prefixes import strip

#: one of these is in every text that quotes stacks
HINTS = ("most recent call first", "py-spy", "pystack", '(idle): "', '(active): "', " (idle)", " (active)")
_PY_SPY = later(
    r"^\s*(?P<function>[^\s(#>][^\n]{0,300}?) \((?P<path>[^()\s\n]{1,300}?(?:\.\w{1,6}[\d.]{0,8}|python[\d.]{0,5}))"
    r"(?::(?P<line>\d{1,7}))?\)\s*$"
)
_FILE = later(
    r'^\s*(?:\(Python\) )?File "(?P<path>[^"\n]{1,600})"(?:, line (?P<line>\d{1,7}))?,? in '
    r"(?P<function>[^\n]{1,200}?)\s*$"
)
_NUMBERED = later(r"^\s*#\d{1,3} {1,4}(?P<function>[\w<>.]{1,160}) from (?P<path>[^\s:]{1,400}):(?P<line>\d{1,7})\s*$")
_THREAD = later(r"^\s*(?:Current thread|Thread) (?:0x[0-9a-fA-F]{1,16}|\d{1,10})\b(?P<rest>[^\n]{0,160})$")
_NAME = later(r'"(?P<name>[^"\n]{1,80})"')
_FIRST = "most recent call first"
_TRACEBACK = "most recent call last"
#: of a crash the stack says where it crashed, not where it waits
_FATAL = later(r"^(?:!!!!!!! )?(?:Fatal Python error: (?!Aborted)|Segfault encountered)|\bSegfault encountered\b")
_RANK = later(r"(?i)\brank[ _=:#]{0,2}(?P<rank>\d{1,6})\b")
_PART = later(r"(?<![A-Za-z0-9])(?P<part>(?:TP|DP|PP|EP|CP)[ _]?\d{1,4})\b")
_PID = later(r"(?i)\b(?:pid|process)[ =:]{1,3}(?P<pid>\d{1,10})\b")
_PID_OPTION = later(r"--pid[ =](?P<pid>\d{1,10})\b")
#: threads of which a process has one
_MAIN = frozenset({"MainThread", "current"})
_LEAST = 2  # frames: one alone is a word of a sentence
_REACH = 4  # lines between a heading and what it heads
_MOST_LINES = 20_000


@record
class Called:
    """One frame: its function, its file as the text has it, and its line (0 where it tells none)."""

    function: str
    path: str
    line: int
    number: int
    text: str


@mutable
class Stack:
    """One thread of one process.

    Args:
        who: what the text calls the process, "" where it does not say.
        name: of the thread; `state`: "active", "idle" or "".
        frames: innermost first.

    """

    who: str
    name: str = ""
    state: str = ""
    frames: list[Called] = field(default_factory=list)


def stacks_in(lines: Sequence[tuple[int, str]]) -> list[Stack]:
    """All stacks of a text, in its order.

    Args:
        lines: (number, text), whole.

    """
    if len(lines) > _MOST_LINES or not any(hint in text for _, text in lines for hint in HINTS):
        return []
    found: list[Stack] = []
    by_process: dict[str, _Reader] = {}
    for number, text in lines:
        stripped = strip(text)
        own = by_process.setdefault(stripped.process, _Reader(stripped.process, found))
        own.line(number, stripped.text)
    return [each for each in found if len(each.frames) >= _LEAST]


class _Reader:
    """Reads the lines of one writer."""

    def __init__(self, process: str, found: list[Stack]) -> None:
        self.process, self.found = process, found
        self.stack: Stack | None = None
        self.heading, self.headed = "", 0
        self.who = ""
        self.first = self.crashed = False  # whether the innermost frame comes first; whether a crash is told

    def line(self, number: int, text: str) -> None:
        """Take one line in."""
        if _FATAL.search(text):
            self.crashed = True
        if (thread := _THREAD.match(text)) is not None:
            self._thread(number, text, thread["rest"])
            return
        if (frame := self._frame(number, text)) is not None:
            if self.stack is None:
                self._begin(number)
            if self.stack is not None:
                self.stack.frames.append(frame)
            return
        self.first = self.first and not text.strip()
        self.stack = None if text.strip() else self.stack
        if text.strip():
            self._head(number, text)

    def _frame(self, number: int, text: str) -> Called | None:
        match = _NUMBERED.match(text) or _PY_SPY.match(text)
        if match is None and (self.first or "(Python) File" in text):
            match = _FILE.match(text)
        if match is None:
            return None
        return Called(match["function"].strip(), match["path"], int(match["line"] or 0), number, text.strip())

    def _thread(self, number: int, text: str, rest: str) -> None:
        if _TRACEBACK in text:
            self.stack = None
            return
        self.first = _FIRST in text
        name = _NAME.search(rest)
        state = "active" if "(active" in rest else "idle" if "(idle" in rest else ""
        self._begin(number)
        if self.stack is not None:
            self.stack.name, self.stack.state = name["name"] if name else "", state
            if text.lstrip().startswith("Current"):
                self.stack.name = self.stack.name or "current"

    def _begin(self, number: int) -> None:
        """Begin a stack, of the process whose heading stands above it."""
        if self.heading and number - self.headed <= _REACH:
            self.who = _called(self.heading) or self.who
        if self.crashed:
            self.stack = None
            return
        self.stack = Stack(_writer(self.process) or self.who)
        self.found.append(self.stack)

    def _head(self, number: int, text: str) -> None:
        """A line that may say whose stack follows; of two that both may, each says what the other one does not."""
        if _called(text):
            near = bool(self.heading) and number - self.headed <= 1
            self.heading = f"{self.heading} {text}" if near and not _RANK.search(text) else text
            self.headed = number


def _writer(process: str) -> str:
    """What the prefix of a line calls its writer: an actor with a number of its own needs no other."""
    name, _, pid = process.partition(" pid=")
    return name if not pid or name[-1:].isdigit() else f"{name} (pid {pid.split()[0]})"


def _called(text: str) -> str:
    """What a heading calls a process; "" where it names none."""
    if match := _RANK.search(text):
        return f"rank {match['rank']}"
    if match := _PART.search(text):
        return match["part"]
    match = _PID_OPTION.search(text) or _PID.search(text)
    return f"process {match['pid']}" if match else ""


def by_process(stacks: Iterable[Stack]) -> Iterator[tuple[str, list[Stack]]]:
    """The threads of each process: of several dumps of one those of the last; each apart where none has a name."""
    groups: dict[str, list[list[Stack]]] = {}
    for each in stacks:
        dumps = groups.setdefault(each.who, [[]])
        if each.name in _MAIN and any(one.name in _MAIN for one in dumps[-1]):
            dumps.append([])
        dumps[-1].append(each)
    for who, dumps in groups.items():
        yield from ((who, threads) for threads in (dumps[-1:] if who else dumps))
