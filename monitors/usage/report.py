"""The report of a monitored run as data: the figures, and what the rules and the events say about them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from doctor.catalogue.index import load
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.diagnosis.report import Diagnosis, Subject, as_dict
from doctor.diagnosis.suppress import Ignored, suppress
from doctor.facts.sampled import NO_GPU, duration
from doctor.logs.events import stopped
from doctor.monitors.usage.hosts import folded as alike
from doctor.monitors.usage.hosts import of_gpus
from doctor.monitors.usage.judged import Summary, summarise
from doctor.monitors.usage.machines import machines
from doctor.monitors.usage.peers import MOST_WATCHED
from doctor.monitors.usage.points import points
from doctor.monitors.usage.sampled import judged
from doctor.monitors.usage.tracks import Usage


def diagnose(
    usage: Usage, *, run_dir: str | None, language: str, ignored: tuple[Ignored, ...] = ()
) -> tuple[Diagnosis, Summary]:
    """Judge one run."""
    began = time.monotonic()
    summary = summarise(usage)
    entries = load()
    rules = load_rules([each.module for each in entries if each.has_rule])
    engine = RuleEngine(rules)
    engine.feed_all(points(usage, summary))
    engine.close()
    checked = judged(entries, usage, summary)
    stop, alarm = stopped(usage.events, entries)
    told = () if alarm is None else (alarm,)
    others = (each for each in (*checked.findings, *engine.findings) if alarm is None or each.problem != alarm.problem)
    findings = sorted([*told, *others], key=lambda each: each.severity.rank)
    crashed = tuple(Crashed(ident, error, "") for ident, error in engine.crashed.items())
    outcome = Outcome(
        tuple(findings), (*checked.skipped, *blind_spots(usage, rules)), (*checked.crashed, *crashed),
        checked.checks_run + len(rules), time.monotonic() - began,
    )  # fmt: skip
    outcome = suppress(outcome, ignored, None)
    argv = tuple(str(word) for word in usage.run.get("argv") or ())
    said = (*clauses(usage, summary), *(() if stop is None else (stop.clause,)))
    target = Subject(
        argv=argv, files=(usage.name,), run_dir=run_dir, summary=said, stopped=None if stop is None else stop.as_data()
    )
    by_id = {entry.id: entry for entry in entries}
    machines = len({*usage.hosts, *(key.host for key in usage.gpus)})
    elapsed = time.monotonic() - began
    return Diagnosis("report", target, outcome, by_id, language, elapsed, machines=machines), summary


def blind_spots(usage: Usage, rules: Iterable[type]) -> Iterator[Skipped]:
    """What could not be judged for want of figures: never the same as well."""
    missing = _missing(usage)
    for each in rules:
        why = next((missing[want] for want in vars(each).get("wants", ()) if want in missing), None)
        if why is not None:
            yield Skipped(vars(each)["__doctor_rule__"][0].id, why)


def _missing(usage: Usage) -> dict[str, str]:
    """What rules may want of a run (`doctor.catalogue.usage_rules`) and this one does not tell -> why."""
    found: dict[str, str] = {}
    if not usage.gpus:
        found["gpus"] = NO_GPU
    elif not usage.gpu_roles:
        found["roles"] = "which processes were on the GPUs is not known"
    elif not usage.engines and any(each["data"].get("name") == "generation" for each in usage.events):
        found["engines"] = "no separate vLLM process: inside the trainer's, the memory of the two is one figure"
    if not any({"gpu_busy_pct", "power_w", "power_limit_w"} <= set(each) for each in usage.gpus.values()):
        found["power"] = "busy figure, power and power limit are not reported together"
    if not usage.hosts:
        found["hosts"] = "there are no host figures"
    return found


def clauses(usage: Usage, summary: Summary) -> list[str]:
    """What was examined, one clause each."""
    said = [duration(summary.seconds)] if summary.seconds >= 0.5 else []
    cards = [key for key in usage.gpus if key.mig is None]
    said.append(f"{len(cards)} GPU{'' if len(cards) == 1 else 's'}" if cards else "no GPU sampled")
    sources = sorted({each.activity_from for each in summary.gpus if each.activity_from})
    renewed = f", updated by the driver every {period}" if (period := _busy_period(usage)) else ""
    said += [f"activity from {each}{renewed if each == 'gpu_busy_pct' else ''}" for each in sources]
    if slowest := max((float(each["data"]["power_every_s"]) for each in _paced(usage)), default=0.0):
        said.append(f"the driver's calls are slow: power is read only every {1000 * slowest:.0f} ms")
    return [*said, *_over_hosts(usage, len(cards)), *usage.notes]


def _paced(usage: Usage) -> list[dict[str, Any]]:
    return [each for each in usage.events if each["data"].get("what") == "states paced"]


def _over_hosts(usage: Usage, cards: int) -> Iterator[str]:
    """What the figures of several machines are worth together."""
    lost = {str(each["data"]["of"]) for each in usage.events if each["data"].get("what") == "node lost"}
    back = {str(each["data"]["of"]) for each in usage.events if each["data"].get("what") == "node back"}
    if lost - back:
        yield f"lost during the run: {folded(sorted(lost - back), 3)}"
    live = [node["name"] for each in usage.events if each["data"].get("what") == "nodes"
            for node in each["data"]["nodes"] if node["alive"]]  # fmt: skip
    if silent := sorted({*live} - {*usage.hosts} - {key.host for key in usage.gpus}):
        yield f"nodes without data: {folded(silent, 3)}"
    for event in usage.events:
        if event["data"].get("what") == "no cluster":
            yield f"only this machine: {event['data']['reason']}"
    if not usage.several_hosts:
        return
    yield f"{len({key.host for key in usage.gpus})} nodes"
    if not usage.clocks:
        yield "clocks of the nodes were not compared"
    else:
        worst = max(usage.clocks.values(), key=lambda each: abs(each.offset_s))
        error = max(each.error_s for each in usage.clocks.values())
        which = "taken out" if worst.moved else "within the error of measuring it"
        yield f"clocks at most {1000 * abs(worst.offset_s):.1f} ms apart ({which}), known to {1000 * error:.1f} ms"
    if cards > MOST_WATCHED:
        yield f"rules were applied to the {MOST_WATCHED} GPUs that differ most"


def _busy_period(usage: Usage) -> str:
    """How often the driver renews its busy figure, as the sampler saw it when it began: 167 ms; 167 to 1000 ms."""
    told = [event["data"].get("busy_period_s") or {} for event in usage.events if event["kind"] == "monitor"]
    periods = sorted({round(1000 * value) for each in told for value in each.values() if value})
    if not periods:
        return ""
    return f"{periods[0]} ms" if len(periods) == 1 else f"{periods[0]} to {periods[-1]} ms"


def figures(usage: Usage, summary: Summary) -> dict[str, Any]:
    """The numbers of the report, for programs."""
    hosts = of_gpus(summary.gpus)
    rows, left_out = alike(hosts)
    return {
        "seconds": round(summary.seconds, 3),
        "gpu_hours": round(summary.gpu_hours, 4),
        "idle_gpu_hours": round(summary.idle_gpu_hours, 4),
        "gpus": [_rounded(asdict(each)) for each in summary.gpus],
        "hosts": [_rounded(asdict(each)) for each in hosts],
        "hosts_shown": [
            {"label": folded(each.hosts, 3), "nodes": len(each.hosts), **_rounded(asdict(each))} for each in rows
        ],
        "hosts_left_out": left_out,
        "machines": [_rounded(asdict(each)) for each in machines(usage)],
        "phases_from": summary.phases_from,
        "phases": [_rounded(asdict(each)) for each in summary.phases],
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def as_report(diagnosis: Diagnosis, usage: Usage, summary: Summary, language: str = "en") -> dict[str, Any]:
    """The report of the contract, with the figures beside the findings."""
    report = as_dict(diagnosis)
    if language != "en":
        from doctor.catalogue.reasons import localised

        report = localised(report, language)
    return {**report, "usage": figures(usage, summary)}
