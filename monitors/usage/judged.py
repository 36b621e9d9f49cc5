"""What the figures of a run come to: means, idle hours, phases, and a coarse series for the rules.

What a figure stands for is told by `numbers.weights`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median

from doctor.monitors.usage.files import SERVER_ROLES
from doctor.monitors.usage.numbers import Grid, Row, binned, mean, row_mean, told
from doctor.monitors.usage.phases import Phase, marked
from doctor.monitors.usage.tracks import GpuKey, Track, Usage

#: a GPU whose activity is below this is idle; the driver's own housekeeping stays under it
IDLE_PCT = 5.0
#: without marks, the run as a whole is "active" above this mean activity
ACTIVE_PCT = 10.0
#: bins of the coarse series, and the shortest one; of all GPUs together, and at the least
MOST_BINS, SHORTEST_BIN_S = 10_000, 1.0
MOST_CELLS, FEWEST_BINS = 2_000_000, 250

#: hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown
BAD_REASONS = 0x8 | 0x20 | 0x40 | 0x80


@dataclass
class GpuSummary:
    """One GPU over the whole run; None is "not told"."""

    label: str
    activity_from: str  # sm_active_pct (gpm), sm_active_pct (dcgm), gpu_busy_pct, or "" for nothing
    activity_pct: float | None = None
    sm_active_pct: float | None = None
    gpu_busy_pct: float | None = None
    tensor_active_pct: float | None = None
    dram_active_pct: float | None = None
    power_w: float | None = None
    memory_peak_mib: float | None = None
    temperature_max_c: float | None = None
    sm_clock_mhz: float | None = None
    slowed_share: float | None = None
    hours: float = 0.0
    idle_hours: float | None = None
    roles: list[str] = field(default_factory=list)
    host: str = ""


@dataclass
class PhaseSummary:
    """All stretches of one phase; activity and idle hours are of all GPUs."""

    name: str
    seconds: float
    share: float
    activity_pct: float | None
    gpu_hours: float
    idle_gpu_hours: float


@dataclass
class Summary:
    """The run at a glance."""

    seconds: float
    gpus: list[GpuSummary]
    phases: list[PhaseSummary]
    phases_from: str  # marks, activity, or "" for none
    gpu_hours: float
    idle_gpu_hours: float
    grid: Grid
    stretches: list[Phase]


def span(usage: Usage) -> tuple[float, float]:
    """First and last moment that any figure tells of, in seconds since the epoch."""
    tracks = [track for figures in (*usage.gpus.values(), *usage.hosts.values()) for track in figures.values()]
    full = [track for track in tracks if len(track.t)]
    return min(float(track.t[0]) for track in full), max(float(track.t[-1]) for track in full)


def activity_track(usage: Usage, key: GpuKey) -> tuple[Track | None, str]:
    """The truest activity that there is of a GPU, and what it is."""
    figures = usage.gpus[key]
    if "sm_active_pct" in figures:
        return figures["sm_active_pct"], f"sm_active_pct ({usage.sources.get(key) or 'unknown'})"
    if "gpu_busy_pct" in figures:
        return figures["gpu_busy_pct"], "gpu_busy_pct"
    return None, ""


def summarise(usage: Usage) -> Summary:
    """Everything that the report tells in numbers."""
    begin_s, end_s = span(usage)
    most = min(MOST_BINS, max(FEWEST_BINS, MOST_CELLS // max(1, len(usage.gpus))))
    width_s = max(SHORTEST_BIN_S, (end_s - begin_s) / most)
    grid = Grid(begin_s, width_s, max(1, int((end_s - begin_s) / width_s) + 1))
    gpus, cards = [], []
    for key in sorted(usage.gpus, key=lambda each: (each.host, each.index, -1 if each.mig is None else each.mig)):
        track, name = activity_track(usage, key)
        if track is not None:
            windows = usage.gpus[key].get("sm_window_s") if name.startswith("sm") else None
            grid.activity[key] = binned(track, grid, windows=windows)
        gpus.append(_gpu(usage, key, name, grid))
        if key.mig is None:  # an instance's hours are its card's
            cards.append(gpus[-1])
    stretches, where_from = _stretches(usage, grid)
    phases = _phases(grid, stretches)
    return Summary(
        end_s - begin_s, gpus, phases, where_from if phases else "", sum(gpu.hours for gpu in cards),
        sum(gpu.idle_hours or 0.0 for gpu in cards), grid, stretches,
    )  # fmt: skip


def _gpu(usage: Usage, key: GpuKey, name: str, grid: Grid) -> GpuSummary:
    figures = usage.gpus[key]
    windows = figures.get("sm_window_s")
    summary = GpuSummary(usage.label(key), name, host=key.host)
    for column in ("sm_active_pct", "tensor_active_pct", "dram_active_pct"):
        setattr(summary, column, mean(figures.get(column), windows))
    summary.gpu_busy_pct, summary.power_w = mean(figures.get("gpu_busy_pct")), mean(figures.get("power_w"))
    for attribute, column in (("memory_peak_mib", "memory_used_mib"), ("temperature_max_c", "temperature_c")):
        if column in figures:
            setattr(summary, attribute, float(max(figures[column].v)))
    if "sm_clock_mhz" in figures:
        summary.sm_clock_mhz = float(median(figures["sm_clock_mhz"].v))
    if "throttle" in figures:
        summary.slowed_share = mean(slowed(figures["throttle"]))
    summary.roles = sorted(role if rank is None else f"{role} {rank}" for role, rank in usage.gpu_roles.get(key, ()))
    activity = grid.activity.get(key)
    if activity is not None:
        active = told(activity)
        summary.activity_pct = fmean(active) if active else None
        summary.hours = len(active) * grid.width_s / 3600
        summary.idle_hours = sum(value < IDLE_PCT for value in active) * grid.width_s / 3600
    return summary


def slowed(throttle: Track) -> Track:
    """1 where a card was under heat or a power brake, 0 where it was not."""
    bad: dict[float, float] = {}  # a few sets of reasons, a million times each
    values = array("f", bytes(4 * len(throttle.v)))
    for at, bits in enumerate(throttle.v):
        known = bad.get(bits)
        if known is None:
            known = bad[bits] = float(int(bits) & BAD_REASONS != 0)
        values[at] = known
    return Track(throttle.t, values)


def _stretches(usage: Usage, grid: Grid) -> tuple[list[Phase], str]:
    """Phases as marked, or else as the activity of all GPUs together shows them."""
    if found := marked(usage.events):
        return found, "marks"
    if not _of_cards(grid):
        return [], ""
    active = [value >= ACTIVE_PCT for value in row_mean(_of_cards(grid))]  # NaN is no activity
    edges = [0, *(at for at in range(1, grid.count) if active[at] != active[at - 1]), grid.count]
    return [
        Phase("active" if active[a] else "idle", grid.begin_s + a * grid.width_s, grid.begin_s + b * grid.width_s)
        for a, b in pairwise(edges)
    ], "activity"


def _of_cards(grid: Grid) -> list[Row]:
    """Activity of whole cards."""
    return [row for key, row in grid.activity.items() if key.mig is None]


def _phases(grid: Grid, stretches: list[Phase]) -> list[PhaseSummary]:
    whole = sum(each.end_s - each.begin_s for each in stretches)
    rows = _of_cards(grid)
    share: dict[str, list[float]] = {}
    for each in stretches:
        first = max(0, int((each.begin_s - grid.begin_s) / grid.width_s))
        last = min(grid.count - 1, int((each.end_s - grid.begin_s) / grid.width_s))
        covered = share.setdefault(each.name, [0.0] * grid.count)
        for number in range(first, last + 1):
            low = grid.begin_s + number * grid.width_s
            covered[number] += max(0.0, min(each.end_s, low + grid.width_s) - max(each.begin_s, low))
    found = []
    for name, seconds in share.items():
        spent, active, idle = _spent(rows, seconds)
        total = sum(each.end_s - each.begin_s for each in stretches if each.name == name)
        activity = active / spent if spent else None
        found.append(PhaseSummary(name, total, total / whole if whole else 0.0, activity, spent / 3600, idle / 3600))
    return sorted(found, key=lambda each: -each.seconds)


def _spent(rows: list[Row], seconds: list[float]) -> tuple[float, float, float]:
    """GPU-seconds in a phase of which something is told, the same times the activity, and those that were idle."""
    spent = active = idle = 0.0
    within = [(number, each) for number, each in enumerate(seconds) if each]
    for row in rows:
        for number, each in within:
            value = row[number]
            if value == value:  # noqa: PLR0124 - NaN: not told
                spent += each
                active += value * each
                idle += each if value < IDLE_PCT else 0.0
    return spent, active, idle


def groups(usage: Usage) -> tuple[list[GpuKey], list[GpuKey]]:
    """GPUs that only train and GPUs that only serve vLLM; both empty where the roles are not known or are mixed."""
    trainers, servers = [], []
    for key in usage.gpus:
        roles = {role for role, _ in usage.gpu_roles.get(key, ())}
        if roles & SERVER_ROLES and "trainer" not in roles:
            servers.append(key)
        elif "trainer" in roles and not roles & SERVER_ROLES:
            trainers.append(key)
    return (trainers, servers) if trainers and servers else ([], [])
