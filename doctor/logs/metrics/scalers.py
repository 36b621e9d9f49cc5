"""Several engines of DeepSpeed in one process (actor and critic of PPO), each with a loss scale of its own.

Their lines do not name the engine: taken for one series, the scale of the one seems to fall because of the other. What
shows that there are several: a scale is halved from the same value twice on end, an attempt is made with less than the
last halving left and another one with just what that had left, or one step is told twice with other counts of skipped
steps. An attempt with less alone is what a run makes that goes on with a lower scale: nothing comes back from before.

https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
https://github.com/deepspeedai/DeepSpeedExamples/blob/master/applications/DeepSpeed-Chat/dschat/rlhf/rlhf_engine.py
"""

from __future__ import annotations

from dataclasses import field

from doctor.base.record import mutable
from doctor.catalogue.loss_scale import ATTEMPTED
from doctor.logs.metrics.names import MetricValues

_NEAR = 3  # lines: between them no scale can have grown, which takes `loss_scale_window` steps (1000 by default)
#: records of one event that two handlers write, or two copies of a stream, are closer than two backward passes
_APART_NS = 20_000_000


@mutable
class _Rank:
    """What one rank's lines have told last."""

    several: bool = False
    halving: tuple[float, float] | None = None
    halved_line: int = 0
    halved_ns: int | None = None
    left: set[float] = field(default_factory=set)  # what halvings had left, before an attempt with less
    skipped: tuple[int | None, float] | None = None
    skipped_line: int = 0


def is_of_scaler(names: tuple[str, ...]) -> bool:
    """Whether a line with these metrics is DeepSpeed's word on a loss scale or on skipped steps."""
    return "overflow" in names or names[0] == "skipped_steps" or names == ("loss_scale", "loss_scale")


class Scalers:
    """Says which of DeepSpeed's lines may be taken for those of one engine."""

    def __init__(self) -> None:
        """Start with one engine in each rank."""
        self._ranks: dict[int | None, _Rank] = {}

    def counts(self, row: MetricValues, rank: int | None, line: int, t_ns: int | None) -> bool:
        """Whether a line counts: not once there are several engines, and not where it repeats the one before it."""
        known = self._ranks.setdefault(rank, _Rank())
        if row.names[0] == "skipped_steps":
            told = row.step, row.values[0]
            if _goes_back(known.skipped, told):
                known = self._ranks[rank] = _Rank()  # another run
            if known.skipped is not None and told[0] == known.skipped[0] and told != known.skipped:
                known.several |= line - known.skipped_line <= _NEAR
            known.skipped, known.skipped_line = told, line
            return not known.several
        scales = [value for name, value in row.pairs if name in ("loss_scale", ATTEMPTED)]
        repeated = bool(scales) and self._repeats(known, scales, line, t_ns)
        return not known.several and not repeated

    @staticmethod
    def _repeats(known: _Rank, scales: list[float], line: int, t_ns: int | None) -> bool:
        """Whether a line tells the last halving again; takes down what it shows of a second engine."""
        if scales[0] in known.left:
            known.several = True
        if known.halving is not None and scales[0] < known.halving[1]:
            known.left.add(known.halving[1])
        if len(scales) < 2:  # an overflow that hysteresis lets pass
            return False
        halving = scales[0], scales[1]
        again = halving == known.halving and line - known.halved_line <= _NEAR
        if again and t_ns is not None and known.halved_ns is not None:
            known.several |= abs(t_ns - known.halved_ns) > _APART_NS
        known.halving, known.halved_line, known.halved_ns = halving, line, t_ns
        return again


def _goes_back(before: tuple[int | None, float] | None, now: tuple[int | None, float]) -> bool:
    """Whether a step is smaller than the one before it."""
    return before is not None and before[0] is not None and now[0] is not None and now[0] < before[0]
