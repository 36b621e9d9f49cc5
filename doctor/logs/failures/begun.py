"""The last words of a log that stops: what was begun there, and by what it is held up where nothing follows.

Some places print a line before they wait for something that has no time limit, and nothing until it is there. A log of
a run that goes on may end there too, so this is never more than likely, and a log that shows a step is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import Begun
from doctor.logs.failures import timeouts
from doctor.logs.failures.case import Case
from doctor.logs.failures.waiting import awaited
from doctor.logs.lines.prefixes import strip
from doctor.logs.lines.prose import is_document, is_said_by_program

_AREA = "launch"
#: last line -> what is begun there
_PLACES = (
    # torch/utils/cpp_extension.py: who does not get the lock waits for its file to vanish, and prints nothing
    ("extension", later(r"^Using (?P<what>\S{1,200}) as PyTorch extensions root\.\.\.")),
    # deepspeed/comm/comm.py: the next call is torch's init_process_group, which waits for all ranks
    ("rendezvous", later(r"Initializing TorchBackend in DeepSpeed with backend (?P<what>\w{2,10})")),
    # vllm/distributed/device_communicators/pynccl.py: the communicator is made, and a first all-reduce tried
    ("communicator", later(r"vLLM is using nccl==(?P<what>[\d.]{3,20})")),
    # NCCL's last word of a communicator: what follows are data
    ("data",
     later(r"NCCL INFO comm 0x[0-9a-f]{4,16} rank \d{1,6} n[rR]anks (?P<what>\d{1,6})\b.{0,200} - Init COMPLETE")),
    ("data",
     later(r"NCCL INFO Channel \d{1,3}(?:/\d{1,3})? : \d{1,6}\[\w{1,8}\] -> "
           r"(?P<what>\d{1,6})\[\w{1,8}\] via (?:P2P|SHM)/")),
)  # fmt: skip
#: what a program says that it waits for, and what it says so of each time it starts or stops
_WAITS = later(
    r"\b[Ww]aiting (?:for|on|until) (?P<what>(?!application |background |worker exit|connections to close)"
    r"[\w][\w /\-']{2,60}?)(?=\s*(?:[.,:;(=!]|$|\bto\b|\bbefore\b|\bfor \d))"
)
#: what a program says when it begins to send to another one, which must be there
_SENDS = later(
    r"(?i)\b(?:broadcast|send|push|transfer|sync)\w*\b[^.\n]{0,30}\b(?:weights?|param\w*|state ?dict|model)\b"
    r"(?!\D{0,20}\b(?:done|took|finished))"
)
#: what has come to its end before: a worker, a loop, the data
_ENDED = later(
    r"(?P<who>[A-Za-z_][\w\-]{2,40}(?: ?#?\d{1,5})?) (?:has |have |is |was |are |were )?(?:been )?(?:finished|exhausted"
    r"|exited|ended|stopped|completed|terminated|died|shut(?:ting)? ?down)\b(?! at| in \d)"
    r"|\b[Nn]o more (?P<what>\w{3,30})\b"
)
#: what ends many times in a run
_AMID = later(
    r"(?i)\b(?:steps?|epochs?|batch\w*|iter\w*|eval\w*|rollouts?|requests?|episodes?|checkpoints?|tasks?|load\w*"
    r"|init\w*|warm\w*|captur\w*|compil\w*)\b"
)
_NUMBERS = later(r"\d+")
_LOOKED_BACK, _MOST_ENDED = 40, 3  # lines before the last one
_MOST = 20_000
#: a bar without progress, and sizes that an engine tells, say nothing of where it stands
_SKIPPED = later(r"^\s*$|:? *0%\|.{0,200}\| *0/\d|# GPU blocks:|NCCL INFO (?!comm 0x)(?!Channel)")


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says of a log that stops where something was begun; None for every other."""
    if case.failures or case.exits or case.last is None or not case.whole or case.lines > _MOST:
        return None
    begun = awaited.begun(case)
    if begun is None and case.marks.asked:
        return None
    begun = begun or _waits(case, case.last.source)
    if begun is None and not (case.marks.success or case.marks.steps or case.marks.served):
        begun = _begun(case, case.last.source)
    if begun is None:
        return None
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judge = function_of(entry, "of_begun")
            if judge is not None:
                finding: Finding = judge(begun)
                return finding
    return None


def _waits(case: Case, place: int) -> Begun | None:
    """The last line says that its process waits; an end that was told before was another process's."""
    lines = [(number, strip(text).text.strip()) for number, text in case.kept[place] if text.strip()]
    number, line = lines[-1] if lines else (0, "")
    match = _WAITS.search(line)
    sends = None if match else _SENDS.search(line)
    shape = _NUMBERS.sub("#", line)
    if (
        (match is None and sends is None)
        or timeouts.read(line)
        or any(_NUMBERS.sub("#", text) == shape for _, text in lines[-_LOOKED_BACK:-1])
    ):
        return None  # who asks again and again is judged by how long it has, see `doctor.logs.failures.loops`
    path = case.sources[place].path
    whole = next(text for at, text in reversed(case.kept[place]) if at == number)
    if not is_said_by_program(whole, in_document=is_document(path, case.kept[place])):
        return None
    who, quotes = _ended_before(case, lines[-_LOOKED_BACK - 1 : -1], path)
    quotes = (Observed.quoted(path, redact_text(line)[:300], number), *quotes)
    success = case.marks.success
    own_end = success is not None and who.endswith(f":{success.number}`")
    if match is None and (not who or own_end):
        return None  # a line that sends is the last one of many logs: only with a receiver that is gone
    told = match["what"] if match is not None else line
    what = redact_text(told)[:80].replace("`", "'")
    return Begun("waits" if match is not None else "receiver", what, Where(file=path, line=number), quotes, who)


def _ended_before(case: Case, lines: Sequence[tuple[int, str]], path: str) -> tuple[str, tuple[Observed, ...]]:
    """What has ended by the lines before the last one, in words and with its lines; "" where nothing has."""
    found: dict[str, Observed] = {}
    for number, text in lines:
        match = _ENDED.search(text)
        if match is not None and not _AMID.search(match[0]):
            found.setdefault(match["who"] or match["what"], Observed.quoted(path, redact_text(text)[:300], number))
    success = case.marks.success
    if not found and success is not None:
        number, said = success.number, redact_text(success.text.strip())[:300]
        found[f"{PurePath(success.file).name}:{number}"] = Observed.quoted(success.file, said, number)
    last = list(found.items())[-_MOST_ENDED:]
    return ", ".join(f"`{redact_text(who)}`" for who, _ in last), tuple(quote for _, quote in last)


def _begun(case: Case, place: int) -> Begun | None:
    for number, text in reversed(case.kept[place]):
        line = strip(text).text
        for what, pattern in _PLACES:
            if match := pattern.search(line):
                path = case.sources[place].path
                quote = Observed.quoted(path, redact_text(line.strip())[:300], number)
                return Begun(what, match["what"], Where(file=path, line=number), (quote,))
        if not _SKIPPED.search(line):
            return None
    return None
