"""What a program says right before a traceback: that it tries again, or that it ends of it.

Told in passing is one below an INFO record that says the program tries again, in a log that ends well. wandb's
`debug.log` has one for every request that its network lost, in runs of which nothing else shows that.

https://github.com/wandb/wandb/blob/main/wandb/sdk/lib/retry.py
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Sequence

from doctor.core.patterns import later
from doctor.logs.prefixes import strip
from doctor.logs.tracebacks import Failure

#: lines between a record and the traceback: the first exception of a chain may have no frames
_NEAR = 5
#: https://github.com/facebookresearch/hydra/blob/main/hydra/core/utils.py (`JobReturn`), hydra/_internal/utils.py
_OF_HYDRA = "Error executing job with overrides: ["
_AGAIN = later(r"\bretr(?:y|ying|ies)\b(?!\.py)|\btry(?:ing)? again\b|重试|再试", re.IGNORECASE)


def told_in_passing(failure: Failure, kept: Sequence[Sequence[tuple[int, str]]], finished: Container[int]) -> bool:
    """Whether a program said of a failure that it tries again, and its log says at its end that the work is done.

    Args:
        failure: which one.
        kept: of each source the (number, text) of its lines.
        finished: sources of which the last lines say that the work is done.

    """
    first = failure.first
    if first.source not in finished or first.source >= len(kept):
        return False
    lines = kept[first.source]
    end = bisect_left(lines, (first.number, ""))
    for number, text in reversed(lines[max(0, end - _NEAR) : end]):
        record = strip(text[:1000])
        if record.level:
            near = 0 < first.number - number <= _NEAR
            return near and record.level in ("I", "D") and _AGAIN.search(record.text) is not None
    return False


def told_by_hydra(failure: Failure, kept: Sequence[Sequence[tuple[int, str]]]) -> bool:
    """Whether Hydra prints why a job ended: of its traceback it leaves out all frames above the job's own function."""
    first = failure.first
    if not failure.end.frames or failure.end.frames[0].at_top or first.source >= len(kept):
        return False
    lines = kept[first.source]
    end = bisect_left(lines, (first.number, ""))
    before = lines[max(0, end - _NEAR) : end]
    return any(_OF_HYDRA in text and first.number - number <= _NEAR for number, text in before)
