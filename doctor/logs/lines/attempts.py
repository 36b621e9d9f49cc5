"""Where one attempt of a run ends and the next one begins, told by whoever starts them.

torchrun starts its workers again as often as `--max-restarts` allows, Slurm puts a job back into its queue and appends
to the same file, a loop in a shell script counts its attempts. What ended an earlier attempt may be something else than
what ended the last one, and the last one is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile

from doctor.base.patterns import later
from doctor.logs.lines.prefixes import strip

Lines = Sequence[tuple[int, str]]

#: torchrun's agent, once for each attempt that failed; of newer releases the process of the agent stands before it
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/multiprocessing/api.py
_FAILED = later(r"failed \(exitcode: -?\d{1,4}\) local_rank: \d{1,5} \(pid: \d{1,9}\) of binary: ")
_AGENT = later(r"E\d{3,4} \d\d:\d\d:\d\d\.\d{1,9} (?P<pid>\d{1,9}) ")
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/agent/server/api.py
_RESTARTS = later(r"\d{1,6}/\d{1,6} attempts left; will restart worker group")
_SUMMARY = "ChildFailedError"
#: slurmstepd, of a job that comes back; a time limit and a cancelled job do not
#: https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (`_handle_signal_container`)
_REQUEUED = later(
    r"\*\*\* (?:JOB|STEP) [\d.]{1,24} ON \S{1,200} CANCELLED AT \S{1,40} DUE TO (?:JOB REQUEUE|PREEMPTION|NODE FAILURE)"
)
#: how a script counts, and how it says that an attempt is over
_COUNTED = later(
    r"[\W_]{0,16}(?:\[[^\]\n]{1,40}\] ?)?(?:(?:starting|launching|running|training|beginning|relaunching|run|job|the)\W"
    r"{1,3}){0,3}(?:attempt|retry|restart)\W{0,4}(?P<count>\d{1,4})(?:\s{0,2}(?:/|of|out of)\s{0,2}\d{1,4})?"
    r"(?P<rest>(?:\W[^\n]{0,80})?)$"
    r"|[\W_]{0,16}第\s?(?P<zh>\d{1,4})\s?次(?:尝试|重试|启动|运行)(?P<zh_rest>[^\n]{0,40})$",
    re.IGNORECASE,
)
_COUNTING = ("attempt", "retry", "restart", "次")
_IS_OVER = later(r"fail|error|crash|exit|died|失败|退出", re.IGNORECASE)
_LONGEST_COUNT = 160  # characters of a line that counts
#: one of these is in every line that one of the forms above matches
_WORDS = (") of binary: ", "attempts left; will", "DUE TO ")
_HEADER = "Traceback (most recent call last)"
#: how a shell, or a script around the run, says that it died; one of the words is in every such line
_DEATHS = ("Killed", "core dumped", "Segmentation fault", "exit")
_DIED = later(r"Killed|core dumped|Segmentation fault|exit(?:ed)?(?: with)?(?: status| code)? ?:?=? ?-?[1-9]\d{0,2}\b")
_MOST, _FEWEST_LINES, _FEW_LINES = 2_000, 3, 10
#: words of whoever starts several processes, whose failures stand side by side without being attempts
OF_SEVERAL = ("local_rank", "[rank", "srun: ", "torch.distributed", "torchrun", "mpirun", "pid=", "Spawn", "[Rank ")
_FIRST_LINES, _BEGINNING, _LONG = 3, 10, 20


def starts(lines: Lines, told: Callable[[str], str]) -> list[int]:
    """Positions at which attempts begin, the first among them; none where there is one, or nobody tells.

    Args:
        lines: (number, text) of those lines of a file that were kept, in order.
        told: what a line says whenever the same command is started.

    """
    text = "\n".join([each for _, each in lines])
    elastic, restarted, slurm = (word in text for word in _WORDS)
    if elastic or restarted:
        return _checked(lines, _of_elastic(lines))
    if slurm and (places := _requeued(lines, told)):
        return _checked(lines, places)
    if sum(map(text.count, (_HEADER, *_DEATHS))) < 2 or "\n```" in text or text.startswith("```"):
        return []  # nothing ended twice, or a pasted thread shows logs side by side
    return _checked(lines, _counted(lines))


def _checked(lines: Lines, borders: list[int]) -> list[int]:
    """The beginning and the borders, each with enough behind it to be an attempt."""
    places = [0]
    for each in borders[:_MOST]:
        if each - places[-1] >= _FEWEST_LINES or len(places) == 1:
            places.append(each)
    while len(places) > 1 and _is_little(lines[places[-1] :]):
        places.pop()
    return places if len(places) > 1 else []


def _is_little(lines: Lines) -> bool:
    """Whether some lines are what a script says when it gives up, or a beginning that tells nothing yet."""
    said = sum(bool(text.strip()) for _, text in lines[: 2 * _FEW_LINES])
    return said < _FEWEST_LINES or (said < _FEW_LINES and not _dies(lines))


def _requeued(lines: Lines, told: Callable[[str], str]) -> list[int]:
    """Behind slurmstepd's words, where the job came back: what it was told to end may go on to speak for long."""
    borders = [place + 1 for place, (_, text) in enumerate(lines) if "DUE TO " in text and _REQUEUED.search(text)]
    if not borders:
        return []
    begun = takewhile(lambda text: _HEADER not in text, (text for _, text in lines[:_BEGINNING]))
    first = {said for text in begun if len(said := told(text)) >= _LONG}
    return [
        one
        for one, other in pairwise([*borders, len(lines)])
        if any(told(text) in first for _, text in lines[one:other])
    ]


def _of_elastic(lines: Lines) -> list[int]:
    """Behind what the agent says of an attempt that failed, but for the last one, behind which it gives up."""
    told = [place + 1 for place, (_, text) in enumerate(lines) if "left; will" in text and _RESTARTS.search(text)]
    if told:
        return told
    by_agent: dict[str, list[int]] = {}
    for place, (_, text) in enumerate(lines):
        if ") of binary: " in text and _FAILED.search(text) and (agent := _AGENT.search(text[:200])):
            by_agent.setdefault(agent["pid"], []).append(place + 1)
    borders = max(by_agent.values(), key=len, default=[])
    if len(by_agent) > 1 and len(borders) < 2:
        return []  # of several nodes each says once that its workers failed
    # a worker that fails later is told of in the same way: any other traceback is the agent's own, who gives up
    if borders and any(_HEADER in text or _SUMMARY in text for _, text in lines[borders[-1] :]):
        return borders[:-1]
    return borders


def _counted(lines: Lines) -> list[int]:
    """Where a script counts up from the first attempt, and what it counts died each time."""
    short = "\n".join([text for _, text in lines if len(text) <= _LONGEST_COUNT])
    lowered = short.encode("utf-8", "surrogatepass").lower()  # of bytes it costs a tenth
    if not any(each.encode() in lowered for each in _COUNTING):
        return []
    begins: dict[int, int] = {}  # count -> where that attempt begins
    for place, count, over in _counts(lines):
        if begins and count not in (max(begins), max(begins) + 1):
            return []
        if over:
            begins.setdefault(count, 0)
            begins[count + 1] = place + 1
        else:
            begins.setdefault(count, place)
    places = list(begins.values())
    if not places or min(begins) > 1 or _dies(lines[: places[0]]):
        return []  # what died before anybody counted may be the cause of all that follows
    return places[1:] if all(_dies(lines[one:other]) for one, other in pairwise(places)) else []


def _counts(lines: Lines) -> Iterator[tuple[int, int, bool]]:
    """(position, count, whether it says that the attempt is over) of lines in which a script counts."""
    for place, (_, raw) in enumerate(lines):
        if len(raw) > _LONGEST_COUNT or not any(each in raw.lower() for each in _COUNTING):
            continue
        if match := _COUNTED.match(strip(raw).text):
            said = match["rest"] or match["zh_rest"] or ""
            yield place, int(match["count"] or match["zh"]), _IS_OVER.search(said) is not None


def _dies(lines: Lines) -> bool:
    """Whether a process ends in some lines: a traceback that reached the top, or the words of a shell."""
    texts = [text for _, text in lines]
    return any(
        (_HEADER in text and any(", in <module>" in each for each in texts[place + 1 : place + 3]))
        or (len(text) < _LONGEST_COUNT and _DIED.search(text) is not None)
        for place, text in enumerate(texts)
    )


def started_again(lines: Lines, told: Callable[[str], str]) -> list[int]:
    """Positions right behind a traceback that reached the top, where the first line of the file comes again.

    These may be attempts, or stages of a script of which the next one fails for want of what the first should have
    left behind: nobody says so. None where several processes write side by side.

    Args:
        lines: see `starts`.
        told: what a line says whenever the same command is started.

    """
    first = next((said for _, each in lines[:_FIRST_LINES] if len(said := told(each)) >= _LONG), "")
    if not first or _HEADER in first:
        return []
    borders = [place for place in _ends_of_tracebacks(lines) if place < len(lines)]
    if not borders or any(word in text for _, text in lines for word in OF_SEVERAL):
        return []
    return [place for place in borders if told(lines[place][1]) == first]


def _ends_of_tracebacks(lines: Lines) -> Iterator[int]:
    """Positions behind the exceptions with which processes ended."""
    top = False
    for place, (_, text) in enumerate(lines):
        if text.startswith(_HEADER):
            top = any(", in <module>" in each for _, each in lines[place + 1 : place + 3])
        elif top and text[:1] not in (" ", "\t", "") and not text.startswith(("Traceback", "During", "The above")):
            top = False
            yield place + 1
