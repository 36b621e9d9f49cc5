"""The last words of a log that stops: what was begun there, and by what it is held up where nothing follows.

Some places print a line before they wait for something that has no time limit, and nothing until it is there. A log of
a run that goes on may end there too, so this is never more than likely, and a log that shows a step is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import Begun
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip

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
_MOST = 20_000
#: a bar without progress, and sizes that an engine tells, say nothing of where it stands
_SKIPPED = later(r"^\s*$|:? *0%\|.{0,200}\| *0/\d|# GPU blocks:|NCCL INFO (?!comm 0x)(?!Channel)")


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says of a log that stops where something was begun; None for every other."""
    if case.failures or case.exits or case.marks.asked or case.last is None or not case.whole or case.lines > _MOST:
        return None
    begun = _waits(case, case.last.source)
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
    number, text = next(((number, text) for number, text in reversed(case.kept[place]) if text.strip()), (0, ""))
    line = strip(text).text
    match = _WAITS.search(line)
    if match is None:
        return None
    path, success = case.sources[place].path, case.marks.success
    quotes = [Observed.quoted(path, redact_text(line.strip())[:300], number)]
    if success is not None:
        quotes.append(Observed.quoted(success.file, redact_text(success.text.strip())[:300], success.number))
    where, after = Where(file=path, line=number), success.number if success is not None else None
    return Begun("waits", redact_text(match["what"]).replace("`", "'"), where, tuple(quotes), after)


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
