"""Collects the fact `sampled`."""

from __future__ import annotations

from doctor.base.fact import Context, DoesNotApply, fact
from doctor.facts.sampled import Sampled


@fact(about="elsewhere")
def collect(context: Context) -> Sampled:  # noqa: ARG001 - it comes from the figures of a run, never from this machine
    """Only `doctor report` gives this fact.

    Raises:
        DoesNotApply: no run is judged.

    """
    raise DoesNotApply("no monitored run is judged")
