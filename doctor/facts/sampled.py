"""What each card went through during a run, as the sampler saw it: slowing down, memory errors, Xids, a lost card."""

from __future__ import annotations

from doctor.base.record import record

#: why nothing is said where figures of cards are wanted, and where events are
NO_GPU, NO_EVENTS = "no GPU was sampled", "there are no events of the sampler"


@record
class SampledGpu:
    """One card over the whole run; None is "not told".

    Args:
        label: its name in the report: 3, or node1:3 where the run has several machines.
        index: NVML's.
        host: its machine, where the run has several.
        slowed_share: share of the time, 0 to 1, under heat or a power brake; `slowed_by` its reasons, NVML's names.
        ecc_before: uncorrected memory errors when the run began; `ecc_after` when it ended.
        pcie_width: most lanes that the link had; `pcie_width_max` those that card and slot can have.

    """

    label: str
    index: int
    host: str | None = None
    slowed_share: float | None = None
    slowed_by: tuple[str, ...] = ()
    ecc_before: float | None = None
    ecc_after: float | None = None
    pcie_width: float | None = None
    pcie_width_max: float | None = None


@record
class SampledEvent:
    """Something that happened `after_s` into the run.

    Args:
        after_s: seconds from the first figure of the run.
        label: of the card, where it is known; `index` and `host` as of `SampledGpu`.
        code: NVML's code of a lost card, the number of an Xid.
        silent_s: seconds for which a driver that hung had said nothing when it was given up.

    """

    after_s: float
    label: str = "?"
    index: int | None = None
    host: str | None = None
    code: int | None = None
    silent_s: float | None = None


@record
class Sampled:
    """A monitored run of `seconds`.

    Args:
        seconds: from the first to the last figure.
        gpus: whole cards, no instances of them.
        events_told: whether the sampler's events are there: without them nobody knows of lost cards and Xids.
        xids_watched: whether the driver tells the sampler of Xids.
        lost: cards that stopped answering; `xids` what the driver reported; `hangs` of the driver itself.

    """

    seconds: float
    gpus: tuple[SampledGpu, ...] = ()
    events_told: bool = False
    xids_watched: bool = False
    lost: tuple[SampledEvent, ...] = ()
    xids: tuple[SampledEvent, ...] = ()
    hangs: tuple[SampledEvent, ...] = ()


def duration(seconds: float) -> str:
    """A stretch of time for people: 42 s, 3.5 min, 2.1 h."""
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
