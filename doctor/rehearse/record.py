"""What came of a rehearsal: its phases, what was replaced, and what was not rehearsed; read from the journals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from doctor.base.record import record
from doctor.monitors.rehearse.journal import PHASES

Entry = Mapping[str, Any]


@record
class RehearsalPhase:
    """One phase of the run.

    Args:
        name: one of PHASES.
        mark: `ok`, `broke`, `open` (it had begun when the pass ended), or `not_reached`.
        seconds: in all its parts, of the process that speaks for all.
        error: name of the exception that left it.

    """

    name: str
    mark: str
    seconds: float = 0.0
    error: str = ""


@record
class LeftOut:
    """Something that was not rehearsed, and why: keys of the doctor's sentences."""

    name: str
    why: str
    values: Mapping[str, Any] = field(default_factory=dict)


@record
class Rehearsed:
    """Both passes, as their journals tell them."""

    entries: tuple[Entry, ...] = ()
    resumed: tuple[Entry, ...] = ()

    def of(self, kind: str, *, resumed: bool = False) -> list[Entry]:
        """Entries of one kind in order of time."""
        return [each for each in (self.resumed if resumed else self.entries) if each["kind"] == kind]

    @property
    def trained(self) -> bool:
        """Whether a training began."""
        return bool(self.of("training"))

    @property
    def finished(self) -> bool:
        """Whether a training came to the end of a rehearsal's steps."""
        return any((each.get("step") or 0) > 0 for each in self.of("trained"))

    @property
    def steps(self) -> int:
        """Optimizer steps of the first training, by the process that made most."""
        made: dict[int, int] = {}
        for each in self.of("step"):
            if each.get("edge") == "end":
                made[each["pid"]] = made.get(each["pid"], 0) + 1
        return max(made.values(), default=0)

    @property
    def saved(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return any(each.get("saved") for each in self.of("trained"))

    @property
    def goes_on(self) -> bool:
        """Whether the second start of a loop loaded what the first one saved: a script may want to be asked for it."""
        return any(each.get("loop") for each in self.of("trained")) and bool(self.of("loaded", resumed=True))

    @property
    def begins_anew(self) -> bool:
        """Whether the second start of a loop loaded nothing, so that it says nothing of a resume."""
        return any(each.get("loop") for each in self.of("trained")) and not self.goes_on

    @property
    def without_signal(self) -> bool:
        """Whether loss and gradients were exactly 0 in every step that was logged, so that nothing could move."""
        logged = [each["values"] for each in self.of("logged") if "grad_norm" in each["values"]]
        return bool(logged) and all(each["grad_norm"] == 0 and each.get("loss") == 0 for each in logged)

    @property
    def step_seconds(self) -> float | None:
        """Seconds of the last optimizer step of the process that speaks for all."""
        begun: dict[int, int] = {}
        last = None
        for each in self.of("step"):
            if each["rank"] == 0 and each.get("edge") == "begin":
                begun[each["step"]] = each["t_ns"]
            elif each["rank"] == 0 and each["step"] in begun:
                last = (each["t_ns"] - begun[each["step"]]) / 1e9
        return last


def phases(done: Rehearsed) -> tuple[RehearsalPhase, ...]:
    """All phases in order, those of the resume from the second pass."""
    spoken = _speaker(done.entries)
    first = {each.name: each for each in _phases(spoken)}
    second = {each.name: each for each in _phases(_speaker(done.resumed))}
    if "resume" in second:
        first["resume"] = second["resume"]
    imports = _imports(spoken)
    if imports is not None:
        first["imports"] = imports
    return tuple(first.get(name, RehearsalPhase(name, "not_reached")) for name in PHASES)


def _speaker(entries: Sequence[Entry]) -> list[Entry]:
    """Entries of one process: the rank 0 that trained; where none did, the one that came furthest."""
    trainers = [each["pid"] for each in entries if each["kind"] == "training" and each["rank"] == 0]
    if trainers:
        return [each for each in entries if each["pid"] == trainers[0]]
    counts: dict[int, int] = {}
    for each in entries:
        if each["rank"] == 0:
            counts[each["pid"]] = counts.get(each["pid"], 0) + (each["kind"] == "phase") + 1
    if not counts:
        return []
    most = max(counts, key=counts.__getitem__)
    return [each for each in entries if each["pid"] == most]


def _phases(entries: Iterable[Entry]) -> list[RehearsalPhase]:
    seconds: dict[str, float] = {}
    begun: dict[str, int] = {}
    errors: dict[str, str] = {}
    for each in entries:
        if each["kind"] != "phase":
            continue
        name = each["name"]
        if each["edge"] == "begin":
            begun[name] = each["t_ns"]
            seconds.setdefault(name, 0.0)
            continue
        seconds[name] = seconds.get(name, 0.0) + (each["t_ns"] - begun.pop(name, each["t_ns"])) / 1e9
        if each.get("error"):
            errors[name] = each["error"]
        else:
            errors.pop(name, None)  # the program went on after an earlier failure
    return [
        RehearsalPhase(
            name, "broke" if name in errors else "open" if name in begun else "ok", spent, errors.get(name, "")
        )
        for name, spent in seconds.items()
    ]


def _imports(entries: Sequence[Entry]) -> RehearsalPhase | None:
    """From the start of the process to the first thing that it did with what it had imported."""
    started = next((each for each in entries if each["kind"] == "process"), None)
    first = next((each for each in entries if each["kind"] == "phase"), None)
    if started is None:
        return None
    if first is None:
        attached = [each for each in entries if each["kind"] == "attached"]
        return RehearsalPhase("imports", "open" if attached else "not_reached")
    return RehearsalPhase("imports", "ok", (first["t_ns"] - started["t_ns"]) / 1e9)


def left_out(done: Rehearsed) -> tuple[LeftOut, ...]:
    """What was not rehearsed, each once."""
    found: dict[tuple[str, str], LeftOut] = {}
    for each in (*done.of("left_out"), *done.of("left_out", resumed=True)):
        key = (str(each["name"]), str(each["why"]))
        found.setdefault(key, LeftOut(*key, each.get("values") or {}))
    for each in done.of("not_made"):
        name = str(each.get("name", ""))
        found.setdefault((f"model {name}", "not_made"), LeftOut("model", "not_made", dict(each)))
    return tuple(found.values())
