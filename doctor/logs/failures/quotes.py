"""What a run quotes: completions of its model, and what the programs that the model wrote print when they fail.

A run that rewards working code executes thousands of programs, most of which fail, and prints their tracebacks; samples
stand in the log between marks of their own: veRL's `[prompt]` and `[score]`
(https://github.com/verl-project/verl/blob/main/verl/workers/reward_manager/naive.py), TRL's box `Step 12`
(https://github.com/huggingface/trl/blob/main/trl/trainer/utils.py, print_prompt_completions_sample), the turns of a
chat template. None of this is a failure of the run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field

from doctor.base.patterns import later
from doctor.base.record import mutable
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Failure
from doctor.logs.lines.exits import Exit
from doctor.logs.lines.prefixes import strip

_LONGEST = 2_000  # lines between two marks; what is longer lost its end
_KINDS = 3  # types of exceptions by which a folder or a string is known to hold programs of others
_LAST_WORDS = 30  # lines: what a process prints at its end is its own until proven otherwise
#: mark that opens a quotation -> the marks of which the first closes it
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<｜end▁of▁sentence｜>", "<end_of_turn>")
_MARKS: dict[str, tuple[str, ...]] = {
    "[prompt] ": ("[score]",),
    "[response] ": ("[score]",),
    "<|im_start|>": _TURN_ENDS,
    "<|start_header_id|>": _TURN_ENDS,
    "<start_of_turn>": _TURN_ENDS,
    "<think>": ("</think>",),
    "<tool_response>": ("</tool_response>",),
    "<interpreter>": ("</interpreter>",),
    "─ Step ": ("╰──",),
}
_AT_START = frozenset({"[prompt] ", "[response] ", "[score]", "╰──"})
_EXCEPTION = later(r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b")
#: a sample as Python or JSON prints it in one line: a list of texts, or a dict with one
_SAMPLE = later(
    r"(?:\[['\"]|\{[^\n]{0,200}['\"](?:prompt|completions?|responses?|messages|solution_str)['\"]: )[^\n]{0,20000}?"
    r"\\n[^\n]{0,20000}?\\n"
)
#: words by which code that catches what a tool or a reward raised passes it on
_PASSED_ON = later(
    r"\W{0,8}(?:\[?(?:WARNING|ERROR|INFO)\W[^\n]{0,40}?)?(?:Error|Exception|Failed|Failure|Unexpected error)\b"
    r"[^\n:]{0,40}\b(?:tools?|sandbox\w{0,10}|execut\w{1,6}|verif\w{1,8}|scor\w{1,4}|rewards?|grad(?:er|ing)"
    r"|test cases?)\b[^\n:]{0,60}: "
)
#: actors that run the programs or ask for verdicts on them
_JUDGES = later(r"[Rr]eward|[Ss]andbox|[Jj]udge|[Vv]erif|[Tt]ool|[Ee]nv(?:Worker|Manager|ironment)|[Cc]ode")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "/sandbox/", "<string>", "<stdin>")  # noqa: S108 - only looked for
_PASSING = "temporary"  # what stands for all of them
#: notebooks, modules started by name, and what Ray unpacks of a job: the user's own, too
_NOT_OTHERS = ("/tmp/ipykernel", "/tmp/ray/", "<frozen", "<ipython")  # noqa: S108


@mutable
class Quotes:
    """What of a case is quoted.

    Args:
        case: what the logs say.
        hits: those that may stand in a quotation.

    """

    case: Case
    hits: Iterable[Hit]
    #: (source, process) -> first and last lines of what it quotes, in order
    _between: dict[tuple[int, str], list[tuple[int, int]]] = field(default_factory=dict)
    _open: dict[tuple[int, str], int] = field(default_factory=dict)  # first lines of what the log's end cuts off
    _others: set[tuple[int, str]] = field(default_factory=set)
    #: (source, role of processes) of those that print the tracebacks of other programs
    tellers: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find the quotations, where anything has been found that may stand in one."""
        case = self.case
        wanted = {each.first.source for each in case.failures} | {case.source_of(each.file) for each in self.hits}
        for source in wanted:
            if source < len(case.kept) and source not in case.backwards:
                for low, high, process in _quotations(case.kept[source], case.sources[source].label):
                    if high:
                        self._between.setdefault((source, process), []).append((low, high))
                    else:
                        self._open[source, process] = low
        kinds: dict[tuple[int, str], set[str]] = defaultdict(set)
        for failure in case.failures:
            if home := _home(failure):
                kinds[failure.first.source, home].add(failure.cause.type)
        self._others = {each for each, types in kinds.items() if len(types) >= _KINDS}
        self.tellers = {(each.first.source, _role(each.process)) for each in case.failures if self._of_others(each)}

    def failure(self, failure: Failure) -> bool:
        """Whether a failure is one of a program that the run executed, or part of a sample."""
        first = failure.first
        if self._inside(first.source, first.number, failure.process) or self._of_others(failure):
            return True
        if failure.cause.kind != "bare" or not self._tells(first.source, failure.process):
            return False
        return self._goes_on(first.source, failure.last_line, failure.process)

    def hit(self, hit: Hit) -> bool:
        """Whether a line is quoted; one that belongs to a failure is, when the failure is."""
        source = self.case.source_of(hit.file)
        if _SAMPLE.match(hit.text) or self._inside(source, hit.line, hit.process):
            return True
        failure = self.case.failure_at(source, hit.line, hit.process)
        if failure is not None:
            return self.failure(failure)
        return self.doubtful(hit) and self._goes_on(source, hit.line, hit.process)

    def doubtful(self, hit: Hit) -> bool:
        """Whether a line may be quoted: its process prints the words of other programs, and no frames stand with it."""
        if hit.frames:
            return False
        return self._tells(self.case.source_of(hit.file), hit.process) or _PASSED_ON.match(hit.text) is not None

    def unsure(self, hit: Hit) -> bool:
        """Whether a line proves nothing: it may be quoted, or where the log ends it cannot be told yet.

        Frames of a program that lies where nobody keeps one are no better than none.
        """
        if hit.frames:
            return _is_passing(hit.frames)
        judge = _JUDGES.search(_role(hit.process)) is not None
        return judge or self.doubtful(hit) or self._unclosed(self.case.source_of(hit.file), hit.line, hit.process)

    def exit(self, ended: Exit) -> bool:
        """Whether it was a program that the run executed that ended so: no launcher counts it."""
        line = ended.line
        if ended.rank is not None or not line.process:
            return False
        return self._inside(line.source, line.number, line.process) or self._tells(line.source, line.process)

    def _tells(self, source: int, process: str) -> bool:
        """Whether a process prints the words of other programs."""
        role = _role(process)
        if (source, role) in self.tellers:
            return True
        return _JUDGES.search(role) is not None and any(each == source for each, _ in self._others)

    def _inside(self, source: int, line: int, process: str) -> bool:
        parts = self._between.get((source, process), [])
        at = bisect_right(parts, (line, 1 << 62)) - 1
        return at >= 0 and line <= parts[at][1]

    def _unclosed(self, source: int, line: int, process: str) -> bool:
        """Whether a quotation was opened before a line, and the log ends before it is closed."""
        begun = self._open.get((source, process))
        return begun is not None and begun < line

    def _of_others(self, failure: Failure) -> bool:
        """A script that failed in several ways may have been started several times: its last words are its own."""
        home, source = _home(failure), failure.first.source
        known = (source, home) in self._others
        return known and (home == _PASSING or self._goes_on(source, failure.last_line, failure.process))

    def _goes_on(self, source: int, line: int, process: str) -> bool:
        """Whether a process prints much more after a line."""
        known = self.case.processes.get(process)
        return known is not None and (known.last.source != source or abs(known.last.number - line) > _LAST_WORDS)


def _role(process: str) -> str:
    """What a process is, for there are many of a kind: "RewardLoopWorker" of "RewardLoopWorker pid=5"."""
    return process.partition(" pid=")[0]


def _home(failure: Failure) -> str:
    """Where the program lies whose traceback it is: a file, or what is there for a while; "" where it is nobody's.

    A traceback with a frame of an installed package is the run's own, for programs of a model are rarely more than
    one file.
    """
    frames = failure.cause.frames
    if failure.cause.kind != "python" or not frames or any(each.package for each in frames):
        return ""
    return next((folder for each in frames if (folder := _folder(each))), "")


def _is_passing(frames: Iterable[str]) -> bool:
    """Whether frames, "path:function" each, are those of a program that is there for a while only."""
    paths = [each.replace("\\", "/") for each in frames]
    return not any("-packages/" in each for each in paths) and any(
        each.startswith(_TEMPORARY) and not each.startswith(_NOT_OTHERS) for each in paths
    )


def _folder(frame: Frame) -> str:
    path = frame.path.replace("\\", "/")
    if path.startswith(_NOT_OTHERS):
        return ""
    if path.startswith(_TEMPORARY):
        return _PASSING
    return path if frame.own else ""


def _quotations(lines: list[tuple[int, str]], label: str) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, process) of what stands between two marks; last line 0 where the log ends first."""
    whole = "\n".join(text for _, text in lines)
    marks = {each: ends for each, ends in _MARKS.items() if each in whole}
    if not marks:
        return
    words = re.compile("|".join(map(re.escape, {*marks, *(end for ends in marks.values() for end in ends)})))
    opened: dict[str, tuple[int, tuple[str, ...]]] = {}
    for number, raw in lines:
        if words.search(raw) is None:
            continue
        stripped = strip(raw)
        if _EXCEPTION.match(stripped.text):  # its message may well name marks
            continue
        process = stripped.process or label
        for match in words.finditer(stripped.text):
            mark = match[0]
            if mark in _AT_START and match.start():
                continue
            begun, ends = opened.get(process, (-_LONGEST, ()))
            if mark in ends and number - begun <= _LONGEST:
                yield begun, number, process
                del opened[process]
            elif mark in marks and number - begun >= _LONGEST:
                opened[process] = number, marks[mark]
    last = lines[-1][0]
    yield from ((begun, 0, process) for process, (begun, _) in opened.items() if last - begun <= _LONGEST)
