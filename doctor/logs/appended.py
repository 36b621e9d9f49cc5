"""Runs that were written one behind the other into the same file: the last of them is the one that is asked about.

`nohup`, `>>` and a job that is queued again append. What a launcher prints once at its start tells where a run begins:
nohup's own line (https://www.gnu.org/software/coreutils/manual/html_node/nohup-invocation.html), or a banner that comes
again after a failure. A banner that comes again without one is another node's, or another part's of the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from doctor.logs.metric_lines import ToldRows
from doctor.logs.scan import Scanned

#: printed once whenever a command is started behind it
_NOHUP = "nohup: ignoring input"
_OF_DEEPSPEED, _DEEPSPEED = "[INFO] [runner.py:", ":main] cmd = "
#: what launchers and servers print once at their start: torchrun, accelerate, DeepSpeed's launcher, Ray, vLLM's server
_BANNERS = (
    "Setting OMP_NUM_THREADS environment variable for each process",
    "The following values were not passed to `accelerate launch`",
    _OF_DEEPSPEED,
    "Started a local Ray instance.",
    "vLLM API server version",
)
#: one of these is in what a run ends with, well or badly
_ENDS = (
    "Traceback (most recent call last)", "error: ", "Segmentation fault", "Killed", "core dumped", "train_runtime",
    "Training completed",
)  # fmt: skip
_FENCE = "```"  # a pasted thread shows logs side by side


class Last(NamedTuple):
    """The last of several runs: the line that it starts with, and how many there are."""

    line: int
    runs: int


def last_run(lines: Sequence[tuple[int, str]]) -> Last | None:
    """Where the last of several runs begins, None where there is one or it cannot be told.

    Behind a mere banner only a run that ended, too, is taken for one of its own.

    Args:
        lines: (number, text) of those lines of a file that were kept, in order.

    """
    starts: list[int] = []
    seen: set[str] = set()
    ended = False
    for number, text in lines:
        if text.startswith(_FENCE):
            return None
        banner = _banner(text)
        if banner is None:
            ended = ended or any(each in text for each in _ENDS)
            continue
        if not starts or (ended and banner in seen):
            starts.append(number)
            seen, ended = set(), False
        seen.add(banner)
    return Last(starts[-1], len(starts)) if len(starts) > 1 and (ended or _NOHUP in seen) else None


def _banner(text: str) -> str | None:
    found = next((each for each in (_NOHUP, *_BANNERS) if each in text), None)
    return None if found == _OF_DEEPSPEED and _DEEPSPEED not in text else found


def of_last_run(found: Scanned) -> tuple[Scanned, Last | None]:
    """What was found in the last run of a log, and which it is; all of it where there is one run."""
    last = last_run(found.lines)
    if last is None:
        return found, None
    hits = [each for each in found.hits if each.line >= last.line]
    counts = {each: sum(hit.signature == each for hit in hits) for each in {hit.signature for hit in hits}}
    lines = [each for each in found.lines if each[0] >= last.line]
    return replace(found, lines=lines, hits=hits, counts=counts), last


def rows_since(batches: Iterable[ToldRows], line: int) -> Iterator[ToldRows]:
    """Metric lines from a line on."""
    for each in batches:
        keep = [place for place, number in enumerate(each.lines) if number >= line]
        if len(keep) == len(each):
            yield each
        elif keep:
            yield each.only(keep)
