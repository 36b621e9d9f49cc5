"""What happened to the cards of a run, as the fact that checks of the catalogue judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doctor.base.evidence import Observations, Observed
from doctor.base.record import replace
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.runner import run_checks
from doctor.facts.sampled import Sampled, SampledEvent, SampledGpu
from doctor.monitors.usage.judged import BAD_REASONS, Summary, slowed, span
from doctor.monitors.usage.numbers import mean
from doctor.monitors.usage.tracks import GpuKey, Track, Usage
from doctor.readers.machine.gpu_queries import REASONS

_FACT = "sampled"


def judged(entries: Iterable[Entry], usage: Usage, summary: Summary) -> Outcome:
    """The checks that ask what happened during a run, each over this one."""
    asking = [_with(entry) for entry in entries]
    return run_checks(
        [each for each in asking if each.checks], Observations([Observed(_FACT, sampled(usage, summary))])
    )


def _with(entry: Entry) -> Entry:
    """A problem with those of its checks that look at a run alone."""
    return replace(entry, checks=tuple(
        each for each in entry.checks if {fact for fact, _ in each.facts.values()} == {_FACT}
    ))  # fmt: skip


def sampled(usage: Usage, summary: Summary) -> Sampled:
    """The run as its figures and the sampler's events tell it."""
    begin_s, _ = span(usage)
    told: dict[str, list[SampledEvent]] = {"lost": [], "xid": [], "nvml hangs": []}
    seen: set[tuple[Any, ...]] = set()
    for event in usage.events:
        what = event["data"].get("what")
        of_gpu = event["kind"] == "gpu"
        key = (what, event.get("host"), event["data"].get("gpu"), event["data"].get("xid"))
        if what not in told or of_gpu is (what == "nvml hangs") or (of_gpu and key in seen):
            continue
        seen.add(key)
        told[what].append(_event(usage, event, begin_s))
    sampler = [event["data"] for event in usage.events if event["data"].get("what") == "gpus"]
    return Sampled(
        summary.seconds, tuple(_gpu(usage, key) for key in usage.gpus if key.mig is None), bool(sampler),
        any(each.get("xids_watched") for each in sampler), *(tuple(each) for each in told.values()),
    )  # fmt: skip


def _event(usage: Usage, event: dict[str, Any], begin_s: float) -> SampledEvent:
    data, host = event["data"], event.get("host") if usage.several_hosts else None
    index = data.get("gpu")
    label = "?" if index is None else str(index)
    return SampledEvent(
        event["t_ns"] / 1e9 - begin_s, f"{host}:{label}" if host else label, index, host,
        data.get("xid", data.get("code")), data.get("silent_s"),
    )  # fmt: skip


def _gpu(usage: Usage, key: GpuKey) -> SampledGpu:
    figures = usage.gpus[key]
    share, reasons = _slowed(figures["throttle"]) if "throttle" in figures else (None, ())
    errors, width, most = (figures.get(each) for each in ("ecc_uncorrected", "pcie_width", "pcie_width_max"))
    return SampledGpu(
        usage.label(key), key.index, key.host if usage.several_hosts else None, share, reasons,
        None if errors is None else float(errors.v[0]), None if errors is None else float(errors.v[-1]),
        None if width is None else float(max(width.v)), None if most is None else float(max(most.v)),
    )  # fmt: skip


def _slowed(track: Track) -> tuple[float, tuple[str, ...]]:
    """Share of the time under heat or a power brake, and which it was."""
    told = {int(bits) & BAD_REASONS for bits in set(track.v)}
    return mean(slowed(track)) or 0.0, tuple(
        name for bit, name in REASONS if bit & BAD_REASONS and any(bits & bit for bits in told)
    )
