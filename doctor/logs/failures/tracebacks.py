"""Exceptions put together again from interleaved lines: Python's, chained and remote, C++'s, the interpreter's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field

from doctor.base.own_frames import without
from doctor.base.patterns import later
from doctor.base.record import mutable, replace
from doctor.logs.failures.elided import marks_gap
from doctor.logs.failures.frames import Frame, arrow_of, frame_of, is_numbered, opening_frame, python_frame
from doctor.logs.failures.raised import Failure, Raised, begins_amid
from doctor.logs.lines.lines import Line

_LONGEST_MESSAGE = 60  # lines; longer ones are dumps
_LOST = 25  # lines of others inside an unlabelled traceback before it is given up
_LOST_HEADLESS = 3  # the same where its header was left out of what was pasted
_BETWEEN = 30  # lines between an exception and the separator before the next of its chain: its own paragraphs
_MOST_TWINS = 64
_FIRST_FUNCTIONS = ("_bootstrap", "_bootstrap_inner")  # of processes and threads
_MOST = 5_000  # failures kept; the rest of a log that repeats itself says nothing new

_HEADER = later(r"Traceback \(most recent call last\):?\s*$")
#: how a build's own traceback stands in what pip and uv quote of its output, and what ends the quotation
#: https://github.com/pypa/pip/blob/main/src/pip/_internal/exceptions.py
_INDENTED = later(r"^(?P<indent> {1,16})Traceback \(most recent call last\):\s*$")
_QUOTED_TO = "[end of output]"
_RICH = later(r"^\s*[╭┌+][─\-]{2,} ?Traceback \(most recent call last\) ?[─\-]{0,400}[╮┐+]?")
_RAY_HEADER = later(
    r"^(?:(?P<type>ray\.exceptions\.(?:RayTaskError(?:\([\w.]{1,120}\))?|ActorDiedError|RayActorError)): "
    r"(?:The actor died because of an error raised in its creation task, )?)?ray::[^\s(]{1,200}\(\)? ?\(pid=\d{1,9}"
)
_EXCEPTION = later(
    r"^(?P<type>(?:[A-Za-z_]\w{0,80}\.){0,12}_{0,2}[A-Z]\w{0,120}(?:\([\w., ]{1,160}\))?)(?:: ?(?P<message>[^\n]*))?$"
)
#: classes of the standard library that are written small
_SMALL = later(
    r"^(?P<type>(?:socket|struct|re|zlib|select|binascii)\.(?:gaierror|timeout|herror|error)|gaierror)"
    r": ?(?P<message>[^\n]*)$"
)
#: what an exception's name ends with, or a dotted name: asked for where no header says that an exception follows
_SURE = later(r"(?:Error|Exception|Failed|Interrupt|Exit|Resources|NotFound|Timeout|OOM)(?:\(|$)|\w\.\w")
_BARE = later(
    r"^(?P<type>(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,100}(?:Error|Exception|Interrupt|OOM)(?:\([\w., ]{1,160}\))?)"
    r"(?:: (?P<message>[^\n]*))$"
)
#: one of these is in every line that begins a failure, or tells that what follows is noise
BEGINNINGS = (
    "Traceback (", "Error", "xception", "Interrupt", "OOM", "ray::", "File ", ".py](http", "terminate called",
    "Fatal Py", "Cell In[",
)  # fmt: skip
#: the same where a console broke the line behind the colon, for what follows is one word of its width
_BROKEN = later(r"^(?P<type>[A-Z]\w{0,100}(?:Error|Exception)): ?$")
_LONG_WORD = 60  # characters
_DURING = "During handling of the above exception, another exception occurred:"
_BECAUSE = "The above exception was the direct cause of the following exception:"
_ORIGINAL = later(r"^Original Traceback \(most recent call last\):")
_CPP = later(
    r"terminate called (?:after throwing an instance of '(?P<type>[^'\n]{1,200})'|without an active exception)"
)
_WHAT = later(r"^\s{0,8}what\(\): {1,4}(?P<message>[^\n]*)")
_FATAL = later(r"^(?:!!!!!!! )?Fatal Python error: (?P<message>[^\n]{1,300})")
#: https://docs.python.org/3.14/library/faulthandler.html#dumping-the-c-stack
_C_STACK = "Current thread's C stack"
_GROUP_BARS = later(r"^(?: {0,12}[|+](?:-\+)?-{0,60}(?: \d{1,4} -{4,60})? ?){1,6}")
_IGNORED = later(r"^(?:Exception ignored in|Error in atexit|Exception in thread QueueFeeder|Exception ignored on)")
#: also what asyncio says of a task for which nobody waits, and of a callback; they go on with what failed
#: https://docs.python.org/3/library/asyncio-dev.html#detect-never-retrieved-exceptions
_THREAD = later(
    r"^(?:Exception|Unhandled exception) in thread (?!QueueFeeder)[^\n]{1,160}:\s*$"
    r"|^Task exception was never retrieved\s*$|^Exception in callback [^\n]{1,400}$"
)
_OF_TASK = ("future: <", "handle: <")
#: what a queue's own thread cannot pickle it prints, and goes on
#: https://github.com/python/cpython/blob/3.12/Lib/multiprocessing/queues.py (`_feed`, `_on_queue_feeder_error`)
_FEEDER = ("multiprocessing/queues.py", "_feed")
#: a record that an exception belongs to which was caught: close to it by any word, and from afar where its own text has
#: many lines by these alone
_ANNOUNCED, _ANNOUNCED_FAR = (
    later(r"exception|error|fail|traceback", re.IGNORECASE),
    later(r"\bException (?:in|during)\b"),
)
_CLOSE, _FAR = 3, 3_000  # lines
#: types whose message is the traceback of another process
_PASSES_ON = later(r"RemoteTraceback$|RemoteError$|_ExceptionWithTraceback$")


@mutable
class _Block:
    first: Line
    kind: str = "python"
    frames: list[Frame] = field(default_factory=list)
    thread: str = ""  # of a fatal error: "current" once that thread's stack began, "another" after it
    type: str = ""
    message: list[str] = field(default_factory=list)
    line: Line | None = None
    last: int = 0
    link: str = ""
    lost: int = 0
    width: int = 0
    indent: str = ""
    twins: int = 0  # tracebacks of other processes whose lines are among its own
    at_top: bool = False
    elided: bool = False

    def raised(self) -> Raised:
        text = "\n".join(self.message).strip()
        return Raised(
            self.type, text, without(self.frames, _told), self.line or self.first, self.last, self.kind, self.link,
            self.width, self.elided,
        )  # fmt: skip


def _told(frame: Frame) -> tuple[str, str, str]:
    return frame.path, frame.function, frame.code


@mutable
class _State:
    """What one process is in the middle of printing."""

    mode: str = "idle"  # idle, frames, message, after, what, stack
    block: _Block | None = None
    outer: list[_Block] = field(default_factory=list)
    chain: list[_Block] = field(default_factory=list)
    link: str = ""
    noise: bool = False
    thread: bool = False
    first: Line | None = None
    latest: Line | None = None  # the last record of its process, and the one that belongs to its failure
    record: Line | None = None
    used: Line | None = None  # a record belongs to one failure


class Assembler:
    """Takes lines in reading order, gives failures; lines of different processes may be interleaved."""

    def __init__(self) -> None:
        """Start with nothing open."""
        self.failures: list[Failure] = []
        #: (source, process) of those that are in the middle of something: only to these does every line matter
        self.open: set[tuple[int, str]] = set()
        self._states: dict[tuple[int, str], _State] = {}

    def feed(self, line: Line, record: Line | None = None) -> None:
        """Take the next line; `record` is the last one before it that its process wrote with a level."""
        key = (line.source, line.process)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State()
        text = line.text
        state.latest = record
        if text.startswith((" ", "+", "|")) and ("|" in text[:14] or "+-" in text[:14]):
            text = _GROUP_BARS.sub("", text)
        elif state.block is not None and state.block.indent:
            text = text.removeprefix(state.block.indent)
        getattr(self, f"_{state.mode}")(state, line, text)
        if state.mode != "idle" or state.noise or state.thread:
            self.open.add(key)
        else:
            self.open.discard(key)

    def close(self) -> list[Failure]:
        """End of input: whatever is open is a failure too. Returns all, in order of their first lines."""
        for state in self._states.values():
            if state.mode == "broken":
                self._drop(state)
            self._emit(state)
        self.failures.sort(key=lambda each: each.first.place)
        return self.failures

    # what each mode does with a line ------------------------------------------------------------------------------

    def _idle(self, state: _State, line: Line, text: str) -> None:
        for word in BEGINNINGS:
            if word in text:
                break
        else:
            if (state.noise or state.thread) and text.strip() and not text.startswith(_OF_TASK):
                state.noise = state.thread = False
            return
        if self._opens(state, line, text):
            return
        if _IGNORED.match(text) or _THREAD.match(text):
            state.noise, state.thread = bool(_IGNORED.match(text)), not _IGNORED.match(text)
            return
        if (match := _BARE.match(text)) and line.level not in ("I", "W", "D"):
            block = _Block(line, kind="bare", type=match["type"], message=[match["message"] or ""], line=line)
            self._begin(state, block, line)
            state.mode = "message"
        elif match := _BROKEN.match(text):
            self._begin(state, _Block(line, kind="broken", type=match["type"], line=line), line)
            state.mode = "broken"
        elif text.strip() and not text.startswith(_OF_TASK):
            state.noise = state.thread = False

    def _opens(self, state: _State, line: Line, text: str) -> bool:
        """Begin a block where the line is a header of any kind."""
        if (rich := _RICH.match(text)) or _HEADER.search(text):
            indented = _INDENTED.match(text)
            width, indent = len(text.rstrip()) if rich else 0, indented["indent"] if indented else ""
            self._begin(state, _Block(line, width=width, indent=indent), line)
            state.mode = "frames"
            return True
        if match := _RAY_HEADER.match(text):
            if match["type"]:
                outer = _Block(line, type=match["type"], line=line, last=line.number)
                self._begin(state, outer, line)
                state.outer.append(outer)
            self._begin(state, _Block(line, kind="remote"), line)
            state.mode = "frames"
            return True
        if (frame := opening_frame(text)) is not None:  # a paste that begins below the header
            self._begin(state, _Block(line, kind="headless", frames=[frame]), line)
            state.mode = "frames"
            return True
        if match := _CPP.search(text):
            self._begin(state, _Block(line, kind="c++", type=match["type"] or "std::terminate", line=line), line)
            state.mode = "what"
            return True
        if match := _FATAL.match(text):
            block = _Block(line, kind="fatal", type="Fatal Python error", message=[match["message"]], line=line)
            self._begin(state, block, line)
            state.mode = "stack"
            return True
        return False

    def _frames(self, state: _State, line: Line, text: str) -> None:
        block = state.block
        assert block is not None  # noqa: S101 - for the type checker: this mode always has a block
        if (frame := frame_of(text)) is not None:
            block.frames.append(frame)
        elif _HEADER.search(text) and not text.startswith(" "):
            self._restart(state, line, text)
            return
        elif (match := self._raised(block, text)) is not None:
            self._exception(state, block, line, match)
            return
        elif marks_gap(text):
            block.elided = True
        elif text[:1] in (" ", "\t", "│", "╰", "╭", "└", "-") or not text.strip() or text.startswith("^"):
            self._code(block, text)
        elif block.frames and not block.frames[-1].code and not is_numbered(text):
            self._code(block, text)  # a paste that lost its indentation
        elif not is_numbered(text):
            block.lost += 1
            if block.lost > (_LOST_HEADLESS if block.kind == "headless" else _LOST):
                self._abandon(state)
            return
        block.last = line.number

    @staticmethod
    def _raised(block: _Block, text: str) -> re.Match[str] | None:
        """The exception that ends a block, where a line is one."""
        match = _EXCEPTION.match(text) or _SMALL.match(text)
        if match is not None and block.kind == "headless" and not _SURE.search(match["type"]):
            return None
        return match

    def _code(self, block: _Block, text: str) -> None:
        if not block.frames:
            return
        last = block.frames[-1]
        if (arrow := arrow_of(text)) is not None:
            block.frames[-1] = replace(last, line=last.line or arrow[0], code=arrow[1])
            return
        code = text.strip(" \t│╰╭└─^~")
        if code and not last.code and not is_numbered(text):
            block.frames[-1] = replace(last, code=code[:300])

    def _exception(self, state: _State, block: _Block, line: Line, match: re.Match[str]) -> None:
        block.type, block.line, block.last = match["type"], line, line.number
        block.message = [match["message"] or ""]
        state.mode = "message"
        if ray := _RAY_HEADER.match(line.text):
            block.type = ray["type"] or block.type
            self._inner(state, line)

    def _message(self, state: _State, line: Line, text: str) -> None:
        block = state.block
        assert block is not None  # noqa: S101
        if self._continues_chain(state, line, text):
            return
        if block.indent and text.strip() and (not line.text.startswith(block.indent) or text.strip() == _QUOTED_TO):
            self._emit(state)
            self._idle(state, line, text)
            return
        if _IGNORED.match(text) or _HEADER.search(text) or _CPP.search(text) or _FATAL.match(text):
            if _PASSES_ON.search(block.type) and _HEADER.search(text):
                self._inner(state, line)
                return
            self._emit(state)
            self._idle(state, line, text)
            return
        same = line.stamped == (block.line or block.first).stamped and line.level == (block.line or block.first).level
        if not text.strip():
            state.mode = "after"
            return
        if block.twins and self._goes_on_in_twin(state, block, line, text):
            return
        if _EXCEPTION.match(text) and (match := _BARE.match(text)) and block.kind == "bare":
            if same and _goes_on(block, match["type"], line):  # the last lines of a chain, quoted without the rest
                self._link(state, "during")
            else:
                self._emit(state)
            self._idle(state, line, text)
        elif same and len(block.message) < _LONGEST_MESSAGE and "it/s]" not in text:
            block.message.append(text[:2000])
            block.last = line.number
        else:
            self._emit(state)
            self._idle(state, line, text)

    def _goes_on_in_twin(self, state: _State, block: _Block, line: Line, text: str) -> bool:
        """Take a frame or an exception of a traceback among whose lines another one has ended."""
        frame, match = frame_of(text), self._raised(block, text)
        if frame is None and (match is None or not _SURE.search(match["type"])):
            return False
        twin = _Block(line, frames=[frame] if frame is not None else [], twins=block.twins - 1)
        if frame is None or not ((frame.at_top and frame.own) or frame.function in _FIRST_FUNCTIONS):
            # whose the frames before are nobody knows; those that follow are the other one's, where only one is left
            block.at_top = twin.at_top = block.at_top or any(each.at_top for each in block.frames)
            block.frames, twin.frames = [], [] if twin.twins else twin.frames
        self._emit(state)
        self._begin(state, twin, line)
        if match is not None:
            self._exception(state, twin, line, match)
        else:
            state.mode = "frames"
        return True

    def _after(self, state: _State, line: Line, text: str) -> None:
        if not text.strip():
            return
        if self._continues_chain(state, line, text):
            return
        if state.link and (match := _EXCEPTION.match(text)) is not None and _SURE.search(match["type"]):
            # a link that was never raised has no traceback
            link = _Block(line, kind="bare", type=match["type"], message=[match["message"] or ""], line=line)
            self._begin(state, link, line)
            state.mode = "message"
            return
        block = state.block
        if block is not None and block.kind == "python" and not line.stamped and not self._begins(text):
            block.lost += 1  # a later paragraph of the message: the chain may go on behind it
            if block.lost <= _BETWEEN:
                return
        self._emit(state)
        self._idle(state, line, text)

    @staticmethod
    def _begins(text: str) -> bool:
        """Whether a line begins something of its own."""
        patterns = (_IGNORED, _THREAD, _BARE, _CPP, _FATAL, _RAY_HEADER, _RICH)
        return bool(_HEADER.search(text)) or python_frame(text) is not None or any(
            each.match(text) for each in patterns
        )  # fmt: skip

    def _broken(self, state: _State, line: Line, text: str) -> None:
        """Take the word that a console put on a line of its own; anything else begins anew."""
        block, word = state.block, text.rstrip()
        assert block is not None  # noqa: S101
        if len(word) >= _LONG_WORD and " " not in word:
            block.message, block.width, block.last, block.kind, state.mode = (
                [text],
                len(word),
                line.number,
                "bare",
                "message",
            )
            return
        self._drop(state)
        self._idle(state, line, text)

    def _what(self, state: _State, line: Line, text: str) -> None:
        block = state.block
        assert block is not None  # noqa: S101
        if match := _WHAT.match(text):
            block.message, block.last, state.mode = [match["message"]], line.number, "message"
            return
        self._emit(state)
        self._idle(state, line, text)

    def _stack(self, state: _State, line: Line, text: str) -> None:
        block = state.block
        assert block is not None  # noqa: S101
        if (frame := python_frame(text)) is not None:
            if block.thread != "another":
                block.frames.insert(0, frame)
            block.last = line.number
        elif text.startswith(_C_STACK):  # Python 3.14 prints it after the frames, or that it cannot
            block.thread = "another"
        elif text.startswith("Current thread"):  # what stood before were threads that only waited
            block.frames.clear()
            block.thread = "current"
        elif text.startswith("Thread 0x"):
            block.thread = "another" if block.thread else ""
        elif text.strip() and not text.startswith((" ", "Stack (most", "Python runtime")):
            self._emit(state)
            self._idle(state, line, text)

    # how blocks hang together -------------------------------------------------------------------------------------

    def _continues_chain(self, state: _State, line: Line, text: str) -> bool:
        """Take a separator, a nested original, or the header after a separator."""
        stripped = text.strip()
        if stripped in (_DURING, _BECAUSE):
            self._link(state, "during" if stripped == _DURING else "because")
            state.mode = "after"
            return True
        if _ORIGINAL.match(stripped):
            self._inner(state, line)
            return True
        if state.link and (_HEADER.search(text) or _RAY_HEADER.match(text) or _RICH.match(text)):
            return self._opens(state, line, text)
        if _RAY_HEADER.match(text) and state.outer:
            self._restart(state, line, text)
            return True
        return False

    def _link(self, state: _State, link: str) -> None:
        self._finish(state)
        state.link = link

    def _inner(self, state: _State, line: Line) -> None:
        """Begin the exception that the open one only passes on: it comes first in the chain."""
        if state.block is not None:
            state.outer.append(state.block)
        state.block = _Block(line, kind="remote")
        state.mode = "frames"

    def _restart(self, state: _State, line: Line, text: str) -> None:
        """Drop an unfinished block, because another header came before its exception line."""
        block, twins = state.block, 0
        if block is not None and not block.type:
            state.block = None
            twins = block.twins + (block.kind == "python")
        else:
            self._finish(state)
        if self._opens(state, line, text) and state.block is not None:
            state.block.twins = min(twins, _MOST_TWINS)

    def _begin(self, state: _State, block: _Block, line: Line) -> None:
        if state.first is None:
            state.first = line
            state.record, state.used = state.latest if state.latest is not state.used else None, state.latest
        block.link, state.link = state.link, ""
        block.last = line.number
        state.block = block

    def _finish(self, state: _State) -> None:
        """Move the open block, and those that passed it on, to the chain."""
        if state.block is not None and state.block.type:
            state.chain.append(state.block)
        state.block = None
        while state.outer:
            outer = state.outer.pop()
            if outer.type and outer not in state.chain:
                outer.link = "remote"
                state.chain.append(outer)

    def _abandon(self, state: _State) -> None:
        state.block = None
        self._emit(state)

    def _drop(self, state: _State) -> None:
        """Forget what only looked like the beginning of a failure."""
        state.block, state.first, state.mode = None, None, "idle"

    def _emit(self, state: _State) -> None:
        """End the chain and keep it."""
        self._finish(state)
        if state.chain and state.first is not None and len(self.failures) < _MOST:
            first = state.first
            lasts = [each.last for each in state.chain]
            last = max(lasts) if max(lasts) >= first.number else min(lasts)
            self.failures.append(
                Failure(
                    first.process,
                    first.rank,
                    tuple(each.raised() for each in state.chain),
                    first,
                    last,
                    state.noise,
                    first.level in ("I", "W", "D"),
                    state.thread or _by_feeder(state.chain[-1].frames),
                    _caught(first, state.record, state.chain[-1].raised()),
                    at_top=state.chain[-1].at_top,
                )
            )
        state.mode, state.block, state.link, state.noise, state.first = "idle", None, "", False, None
        state.thread = False
        state.chain, state.outer = [], []


def _goes_on(block: _Block, kind: str, line: Line) -> bool:
    """Whether an exception that stands alone follows another one of another type, in the next line, without stamps."""
    return line.number == block.last + 1 and kind != block.type and not (line.stamped or line.level)


def _by_feeder(frames: Sequence[Frame]) -> bool:
    path, function = _FEEDER
    return bool(frames) and frames[0].path.replace("\\", "/").endswith(path) and frames[0].function == function


def _caught(first: Line, record: Line | None, end: Raised) -> str:
    """Level of the record that a failure belongs to, where one announces it and it carries no head of its own."""
    if record is None or record.level not in ("W", "E", "F") or first.level or first.stamped:
        return ""
    far = first.number - record.number
    if (0 < far <= _CLOSE and _ANNOUNCED.search(record.text)) or (
        0 < far <= _FAR and _ANNOUNCED_FAR.search(record.text[:400])
    ):
        return record.level
    # a record of a structured logger holds the exception itself; `exc_info` puts it behind any words
    inside = begins_amid(end) or (end.kind == "python" and bool(end.frames) and bool(end.frames[0].package))
    return record.level if far == 0 or (far == 1 and inside) else ""


def read(lines: Iterable[Line]) -> list[Failure]:
    """Every failure in some lines."""
    assembler = Assembler()
    for line in lines:
        assembler.feed(line)
    return assembler.close()
