"""What a program says right before a traceback of which it ends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from doctor.logs.failures.raised import Failure

#: lines between a record and the traceback: the first exception of a chain may have no frames
_NEAR = 5
#: https://github.com/facebookresearch/hydra/blob/main/hydra/core/utils.py (`JobReturn`), hydra/_internal/utils.py
_OF_HYDRA = "Error executing job with overrides: ["


def told_by_hydra(failure: Failure, kept: Sequence[Sequence[tuple[int, str]]]) -> bool:
    """Whether Hydra prints why a job ended: of its traceback it leaves out all frames above the job's own function."""
    first = failure.first
    if not failure.end.frames or failure.end.frames[0].at_top or first.source >= len(kept):
        return False
    lines = kept[first.source]
    end = bisect_left(lines, (first.number, ""))
    before = lines[max(0, end - _NEAR) : end]
    return any(_OF_HYDRA in text and first.number - number <= _NEAR for number, text in before)
