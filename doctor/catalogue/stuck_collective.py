"""Where the ranks of a process group stand still: what a problem is told of the dumps of torch's flight recorder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from doctor.base.evidence import Observed


@dataclass(frozen=True)
class StuckCollective:
    """A collective that not all ranks of a group entered, or that they entered with different arguments.

    Args:
        group: name or description of the process group.
        number: of the collective in its group, counted from 1 (`collective_seq_id`).
        operation: what the waiting ranks called: "all_reduce".
        waiting: ranks that entered it and have not come out; `absent`: ranks whose dump ends before it.
        unseen: ranks of the group without a dump.
        last: absent rank -> number of the last collective that it entered.
        differs: "" where ranks are absent; "operation", "shape" or "dtype" where all came and disagree.
        values: rank -> what it called, where they disagree.
        certain: whether the dumps prove that the ranks mean the same group.
        file: the dump that shows the earliest rank to blame.
        evidence: quotations.

    """

    group: str
    number: int
    operation: str
    waiting: Sequence[int]
    absent: Sequence[int] = ()
    unseen: Sequence[int] = ()
    last: Mapping[int, int] = field(default_factory=dict)
    differs: str = ""
    values: Mapping[int, str] = field(default_factory=dict)
    certain: bool = False
    file: str = ""
    evidence: tuple[Observed, ...] = ()
