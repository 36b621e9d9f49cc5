"""A run that made no progress before it was ended, as the logs show it; the words stand in the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Where


@record
class Stillness:
    """No step for long, and then the end.

    A file under ``checks/launch/`` declares ``of_stillness(stillness: Stillness) -> Finding``.

    Args:
        seconds: from the last step to the end of the logs; `usual_s`: what a step took before.
        step, total: where it stopped, None where the logs do not tell.
        where, evidence: the last sign of progress, and what came at the end.
        behind: (rank, seconds) of ranks whose last words are older than those of others, the oldest first.

    """

    seconds: float
    usual_s: float
    step: int | None
    total: int | None
    where: Where
    evidence: tuple[Observed, ...]
    behind: Sequence[tuple[int, float]] = ()
