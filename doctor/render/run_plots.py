"""What the page of a run draws, on one axis of time: metrics, GPUs, host, with phases behind and findings across."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.monitors.usage.phases import marked
from doctor.monitors.usage.whole import Whole
from doctor.render import sparkline
from doctor.render.usage_page import Band, Lines, Moment
from doctor.render.usage_plots import MOST_BANDS, Line, of_run, thinned

#: metrics that are drawn, and marks
_MOST_METRICS, _MOST_MARKS = 16, 60
#: metrics that a reader looks for first; those that findings judge come before them
_FIRST = ("reward", "loss", "grad_norm", "kl", "entropy", "reward_std", "completions/mean_length", "learning_rate")

Times = Mapping[int, float]


def plots_of(whole: Whole) -> tuple[list[Lines], list[Band], list[Moment]]:
    """Plots, bands and marks of one run."""
    times = _times(whole.events)
    lines = _metrics(whole.report, times)
    bands: list[Band] = []
    figures: list[Lines] = []
    if whole.usage is not None and whole.summary is not None:
        figures, bands, _ = of_run(whole.usage, whole.summary)
    if not bands or whole.summary is None or whole.summary.phases_from != "marks":
        bands = [Band(each.name, each.begin_s, each.end_s) for each in marked(whole.events)][:MOST_BANDS] or bands
    return [*lines, *figures], bands, _marks(whole, times)


def _times(events: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Step -> when it was made (s since the epoch), as its processes tell, the first that does."""
    found: dict[int, float] = {}
    for event in events:
        if event["step"] is not None and event["kind"] in {"step", "phase", "alarm", "stop", "end", "monitor"}:
            found.setdefault(event["step"], event["t_ns"] / 1e9)
    return found


def _at(step: float, times: Times) -> float | None:
    """When a step was: as told, or between its neighbours."""
    if not times:
        return None
    known = times.get(int(step))
    if known is not None:
        return known
    below = max((each for each in times if each < step), default=None)
    above = min((each for each in times if each > step), default=None)
    if below is None or above is None:
        return None
    return times[below] + (times[above] - times[below]) * (step - below) / (above - below)


def _metrics(report: Mapping[str, Any], times: Times) -> list[Lines]:
    """A plot for each metric whose steps have a time."""
    drawn = []
    for each in report.get("series", ()):
        points = [(at, y) for x, y in each["points"] if each["x"] == "step" and (at := _at(x, times)) is not None]
        if points and each["x"] == "step":
            judged = len(each["findings"]) > 0
            place = _FIRST.index(each["name"]) if each["name"] in _FIRST else len(_FIRST)
            drawn.append(
                ((not judged, place, each["name"]), Lines(each["name"], [_line(points)], _broken(each, times)))
            )
    return [lines for _, lines in sorted(drawn, key=lambda each: each[0])[:_MOST_METRICS]]


def _broken(series: Mapping[str, Any], times: Times) -> tuple[float, float | None] | None:
    """From and to when a metric is no number."""
    steps = sparkline.not_finite(series)
    begin = None if steps is None else _at(steps[0], times)
    if steps is None or begin is None:
        return None
    return begin, None if steps[1] is None else _at(steps[1], times)


def _line(points: Sequence[tuple[float, float]]) -> Line:
    values = [y for _, y in points]
    kept = thinned(values)
    return "value", [round(points[at][0], 3) for at in kept], [float(f"{values[at]:.6g}") for at in kept]


def _marks(whole: Whole, times: Times) -> list[Moment]:
    """Findings at their steps, and what happened at a moment of its own; each word once."""
    found: dict[str, float] = {}
    severities = {each["id"]: each["severity"] for each in whole.report["findings"]}
    for finding in whole.report["findings"]:
        step = finding["where"].get("step")
        at = None if step is None else _at(step, times)
        if at is not None and finding["severity"] != "info":
            found.setdefault(finding["id"], at)
    for event in whole.events:
        label = _label(event)
        if label:
            found.setdefault(label, event["t_ns"] / 1e9)
    moments = [Moment(at, label, severities.get(label, "error")) for label, at in found.items() if math.isfinite(at)]
    return sorted(moments, key=lambda each: each.at_s)[:_MOST_MARKS]


def _label(event: Mapping[str, Any]) -> str:
    """What a moment is called; empty for one that is no mark."""
    data = event["data"]
    if event["kind"] == "gpu" and data.get("what") == "xid":
        return f"GPU {data.get('gpu')} Xid {data['xid']}"
    if event["kind"] == "gpu" and data.get("what") in {"lost", "back"}:
        return f"GPU {data.get('gpu')} {data['what']}"
    if event["kind"] == "alarm":
        return str(event["id"] or "alarm")
    if event["kind"] == "exception" and not data.get("thread"):
        return str(data.get("type") or "exception").rpartition(".")[2]
    return {"hang": "hang", "stop": "stopped by the guard"}.get(event["kind"], "")
