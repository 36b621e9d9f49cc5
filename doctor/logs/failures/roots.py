"""The first failure as torchrun saw it, where a script decorated with `@record` left its traceback.

https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/multiprocessing/errors/__init__.py
"""

from __future__ import annotations

from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Failure

_NEAR = 4  # lines between the exit code of a block and its traceback


def recorded(case: Case) -> Failure | None:
    """What the block "Root Cause (first observed failure)" quotes; of several nodes' blocks that of the first."""
    for root in case.exits:
        if not root.root or root.by_launcher:
            continue
        number = root.line.number
        for each in case.failures:
            near = 0 < each.first.number - number <= _NEAR
            if near and each.first.source == root.line.source and each.rank == root.rank:
                return each
    return None
