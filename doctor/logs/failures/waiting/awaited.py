"""What an excerpt waits for, against what its own lines say is there: resources, a folder, an engine that was paused.

Three ways in which a run waits for ever although nobody failed: a bundle of Ray asks for more than the job has; one
process looks into another folder than the other one writes to; an engine was paused and nobody lets it go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Where
from doctor.catalogue.stillness import Begun
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip

_MOST_LINES, _LONGEST = 200, 2_000


class _Text(NamedTuple):
    file: str
    number: int
    text: str
    process: str


def begun(case: Case) -> Begun | None:
    """What holds a run up by its own lines; None where nothing does, or somebody failed."""
    if case.failures or case.exits or case.lines > _MOST_LINES:
        return None
    lines = list(_lines(case))
    return _too_much(lines, case.given.text) or _elsewhere(lines) or _paused(lines)


def _lines(case: Case) -> Iterator[_Text]:
    for source, kept in zip(case.sources, case.kept, strict=False):
        for number, whole in kept:
            stripped = strip(whole[:_LONGEST])
            yield _Text(source.path, number, stripped.text, stripped.process or whole.partition(" ")[0])


def _told(place: str, what: str, ended: str, lines: Sequence[_Text]) -> Begun:
    quotes = tuple(Observed.quoted(each.file, redact_text(each.text.strip())[:300], each.number) for each in lines)
    return Begun(place, what, Where(file=lines[0].file, line=lines[0].number), quotes, ended)


# resources ------------------------------------------------------------------------------------------------------------

#: a bundle as Ray's API takes it, and as its users print it
_BUNDLE = later(r"\{\s*['\"](?:CPU|GPU)['\"]\s*:\s*[\d.]{1,8}(?:\s*,\s*['\"](?:CPU|GPU)['\"]\s*:\s*[\d.]{1,8})?\s*\}")
_WANTED = later(r"['\"](?P<kind>CPU|GPU)['\"]\s*:\s*(?P<number>[\d.]{1,8})")
_OF_GROUP = later(r"(?i)placement|bundle")
_WAITS = later(r"(?i)\bwait|\bpending\b|\bhang")
#: what one node has for Ray: as Slurm grants it, as `ray start` or `ray.init` is told
_HAS = (
    ("CPU", later(r"(?:--cpus-per-task[= ]|\bSLURM_CPUS_PER_TASK[= ])(?P<number>\d{1,4})\b")),
    ("CPU", later(r"\bray start\b[^\n]{0,300}--num-cpus[= ](?P<number>\d{1,4})\b")),
    ("CPU", later(r"\bray\.init\([^)\n]{0,200}?num_cpus\s?=\s?(?P<number>\d{1,4})\b")),
    ("GPU", later(r"--gres[= ]gpu(?::\w{1,20})?:(?P<number>\d{1,2})\b")),
    ("GPU", later(r"\bray start\b[^\n]{0,300}--num-gpus[= ](?P<number>\d{1,2})\b")),
    ("GPU", later(r"\bray\.init\([^)\n]{0,200}?num_gpus\s?=\s?(?P<number>\d{1,2})\b")),
)
#: Slurm grants so many CPUs to each task of a node
_TASKS = later(r"--ntasks-per-node[= ](?P<number>\d{1,4})\b")
#: several nodes, or an address that is joined: another one may have what this one has not
_JOINS = later(r"--address\b|(?<![\w-])address\s?=|--nodes[= ](?!1\b)\d|-N (?!1\b)\d")


def _too_much(lines: Sequence[_Text], given: str) -> Begun | None:
    shown = "\n".join([given[:20_000], *(each.text for each in lines)])
    asking = next((each for each in lines if _BUNDLE.search(each.text) and _OF_GROUP.search(each.text)), None)
    if asking is None or _JOINS.search(shown) or not _WAITS.search(shown):
        return None
    tasks = _TASKS.search(shown)
    for match in (one for bundle in _BUNDLE.finditer(asking.text) for one in _WANTED.finditer(bundle[0])):
        kind, wanted = match["kind"], float(match["number"])
        has = [float(told["number"]) for of, pattern in _HAS if of == kind for told in pattern.finditer(shown)]
        if kind == "CPU" and tasks is not None:
            has = [each * int(tasks["number"]) for each in has]
        if has and wanted > max(has):
            return _told("resources", f"{wanted:g} {kind}", f"{max(has):g}", (asking,))
    return None


# folders --------------------------------------------------------------------------------------------------------------

_PATH = r"[^/\n]{0,40}?(?P<path>(?<![\w.])/(?:[\w.\-*{}]{1,80}/?){1,12})"
_READS = later(rf"(?i)\b(?:look|search|scann|watch|poll|listen|wait|read)\w*\b{_PATH}")
_WRITES = later(rf"(?i)\b(?:writ|sav|stor|export|dump|publish)\w*\b{_PATH}")
_STILL = later(r"(?i)\bwaiting (?:for|on|until)\b")
_SHARED = 2


def _elsewhere(lines: Sequence[_Text]) -> Begun | None:
    """One process looks where no other one writes, though both paths begin alike, and something waits to the end."""
    if not lines or not any(_STILL.search(each.text) for each in lines[-3:]):
        return None
    reads = [(each, match["path"]) for each in lines if (match := _READS.search(each.text))]
    writes = [(each, match["path"]) for each in lines if (match := _WRITES.search(each.text))]
    for reader, wanted in reads:
        others = [(each, path) for each, path in writes if each.process != reader.process]
        near = [(each, path) for each, path in others if _shared(path, wanted) >= _SHARED]
        if near and not any(_within(path, wanted) for _, path in others):
            return _told("elsewhere", wanted, near[0][1], (reader, near[0][0]))
    return None


def _shared(one: str, other: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for a, b in zip(one.strip("/").split("/"), other.strip("/").split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count


def _within(path: str, wanted: str) -> bool:
    pattern = wanted.rstrip("/")
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*") or wanted.startswith(path.rstrip("/") + "/*")


# engines --------------------------------------------------------------------------------------------------------------

_PAUSES = later(
    r"(?i)/\w*(?P<call>pause\w*)\b|\b(?P<what>pause(?:_generation|_scheduler)?|abort_all)\b(?=[^\n]{0,40}(?:200|done|ok\b|$))"
)
_GOES_ON = later(
    r"(?i)/\w*(?:continue|resume|unpause)\w*|\b(?:continue|resume|unpause)d?[_ ]?(?:generation|scheduler)\b"
)
#: an engine of vLLM or SGLang that has requests and works on none
#: (https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/loggers.py)
_IDLE = later(
    r"\bRunning: 0 reqs, Waiting: (?P<waiting>[1-9]\d{0,6}) reqs"
    r"|#running-req: 0, #queue-req: (?P<queued>[1-9]\d{0,6})"
)
_BUSY = later(r"\bRunning: [1-9]\d{0,6} reqs|#running-req: [1-9]")
_IDLE_LINES = 2


def _paused(lines: Sequence[_Text]) -> Begun | None:
    """The engine was paused, its requests wait, and no line tells that it goes on."""
    at = max((place for place, each in enumerate(lines) if _PAUSES.search(each.text)), default=-1)
    after = lines[at + 1 :] if at >= 0 else ()
    idle = [each for each in after if _IDLE.search(each.text)]
    if len(idle) < _IDLE_LINES or any(_GOES_ON.search(each.text) or _BUSY.search(each.text) for each in after):
        return None
    match, paused = _IDLE.search(idle[-1].text), _PAUSES.search(lines[at].text)
    waiting = (match["waiting"] or match["queued"]) if match else ""
    what = (paused["what"] or paused["call"] or "") if paused else ""
    return _told("paused", what, waiting, (lines[at], idle[-1]))
