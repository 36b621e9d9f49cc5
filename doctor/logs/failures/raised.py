"""What a log shows of a failure: exceptions, each with its frames, and what led from one to the next."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.logs.failures.frames import Frame
from doctor.logs.lines.lines import Line

_SAID = 300  # characters by which two lines are told apart
_TELLING = 16  # characters of a message by which it is known in another one
#: where libraries begin a process, or run the tasks of others: what comes out of these is an end
#: https://github.com/uqfoundation/multiprocess, https://github.com/celery/billiard
_ENTRIES = later(
    r"[\\/](?:multiprocess|billiard)[\\/]process\.py:_bootstrap$|[\\/]torch[\\/]multiprocessing[\\/]spawn\.py:_wrap$"
    r"|[\\/]torch[\\/]distributed[\\/](?:elastic|launcher)[\\/]|[\\/]ray[\\/]_private[\\/]"
)


@record
class Raised:
    """One exception of a chain. `link` is how it hangs on the one before: "", "during", "because" or "remote".

    `width`: of the console for which the message was broken into lines, 0 where it was not. `elided`: somebody left
    frames out of what was pasted, and said so.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    line: Line
    last_line: int
    kind: str = "python"
    link: str = ""
    width: int = 0
    elided: bool = False

    @property
    def unbroken(self) -> str:
        """The message in one line: a word longer than the console was cut at its edge, the others between them."""
        if not self.width:
            return self.message
        text = ""
        for each in self.message.split("\n"):
            text += each if len(each.rstrip()) >= self.width else f"{each.rstrip()} "
        return text.rstrip()

    @property
    def says(self) -> tuple[str, str]:
        """Type and first line, by which two are told to be alike."""
        return self.type, self.message.partition("\n")[0].strip()[:_SAID]

    def covers(self, number: int) -> bool:
        """Whether a line lies in what it says, from its type on."""
        low, high = sorted((self.line.number, self.last_line))
        return low <= number <= high

    @property
    def name(self) -> str:
        """Type without its module."""
        return self.type.partition("(")[0].rpartition(".")[2]


@record
class Failure:
    """A chain of exceptions that one process printed, the earliest first.

    `noise`: printed by a destructor or at the interpreter's end; `handled`: logged below the level of errors;
    `thread`: it ended a thread, which does not end the process; `caught`: the level of the record to which it was
    added, for a program that writes a record caught it, "" where it is none; `at_top`:
    it reached the top of its program, though its frames do not show that; `times`: how often its process printed it
    from the same frames, 0 where from others too; `latest`: the line at which it did so last.
    """

    process: str
    rank: int | None
    chain: tuple[Raised, ...]
    first: Line
    last_line: int
    noise: bool = False
    handled: bool = False
    thread: bool = False
    caught: str = ""
    at_top: bool = False
    times: int = 1
    latest: int = 0

    @property
    def cause(self) -> Raised:
        """The link that says what went wrong: the earliest, unless it was only a probe that a later one words."""
        for number, each in enumerate(self.chain[:-1]):
            later = self.chain[number + 1]
            if each.name in _PROBES and later.link == "during" and len(later.message) > len(each.message) + 12:
                continue
            return each
        return self.chain[-1]

    @property
    def end(self) -> Raised:
        """The exception that reached the top."""
        return self.chain[-1]

    @property
    def reached_top(self) -> bool:
        """Whether nothing of its program is left that could have caught it, and none says that it did."""
        top = self.at_top or (bool(self.end.frames) and self.end.frames[0].at_top)
        return top and not (self.noise or self.thread or self.caught)

    @property
    def was_caught(self) -> bool:
        """Whether it shows itself that its program caught it."""
        return not self.at_top and (bool(self.caught) or not self.end.frames or begins_amid(self.end))

    @property
    def of_library(self) -> bool:
        """Whether its first frame is a library's function, in which no process begins: there it was caught."""
        if not self.end.frames or self.end.kind != "python":
            return False
        first = self.end.frames[0]
        return bool(first.package) and not _ENTRIES.search(first.key)

    def is_another_after(self, failure: Failure) -> bool:
        """Whether it came after another one of the same process, and neither raises nor quotes it."""
        one, other = self.first, failure.first
        if (one.source, self.process) != (other.source, failure.process) or one.order <= other.order:
            return False
        kind, said = failure.cause.says
        quoted = any(each.type == kind or each.type.endswith(f"({failure.cause.name})") for each in self.chain)
        told = len(said) >= _TELLING and any(said in each.message for each in self.chain)
        return not (quoted or told or {each.says for each in self.chain} & {each.says for each in failure.chain})

    def raised_at(self, number: int, text: str) -> Raised | None:
        """The link to which a line belongs; of several in one line of the file the one that says what it says."""
        here = [each for each in self.chain if each.covers(number)]
        said = (each for each in here if each.line.text[:_SAID] == text[:_SAID])
        return next(said, None) or (here[-1] if here else None)

    def covers(self, source: int, number: int) -> bool:
        """Whether a line lies inside it."""
        low, high = sorted((self.first.number, self.last_line))
        return self.first.source == source and low <= number <= high


#: exceptions by which code asks whether something is there
_PROBES = frozenset({"KeyError", "AttributeError", "IndexError", "StopIteration", "LookupError", "Empty", "NameError"})


def begins_amid(raised: Raised) -> bool:
    """Whether its first frame shows that somebody caught it.

    What nobody catches begins at the top of a program, and what a child process or a thread prints, in a function of a
    library; in the user's own function, or with an import inside a library, begins what one of these caught.
    """
    if not raised.frames or raised.kind != "python":
        return False
    first = raised.frames[0]
    return not first.at_top if first.own else bool(first.package) and first.at_top
