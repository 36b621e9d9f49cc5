"""Collects the fact `cluster`."""

from __future__ import annotations

from doctor.base.fact import Context, DoesNotApply, fact
from doctor.facts.cluster import Cluster


@fact(about="elsewhere")
def collect(context: Context) -> Cluster:  # noqa: ARG001 - it comes from gathering, never from this machine alone
    """Only gathering (`--ray`, `--from FOLDER`) gives this fact.

    Raises:
        DoesNotApply: one machine is judged.

    """
    raise DoesNotApply("one machine is judged")
