"""The main job: facts in, diagnosis out. What `doctor check` does, callable without a command line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from doctor.core.finding import Finding
from doctor.core.fixes import fixable
from doctor.core.index import load_with_faults
from doctor.core.outcome import Crashed, Outcome
from doctor.core.record import record
from doctor.core.report import Diagnosis, Target
from doctor.core.runner import facts_needed, importance, run_checks
from doctor.core.suppress import Ignored, suppress
from doctor.facts.base import Context, FactState
from doctor.facts.collector import Collector

#: packages named in the line that says what was examined
SHOWN_PACKAGES = (
    "torch",
    "trl",
    "vllm",
    "deepspeed",
    "accelerate",
    "transformers",
    "peft",
    "verl",
    "trinity-rft",
    "ray",
)


@record
class Patient:
    """One host to be judged: facts given from a file (`origin` names it), or none for this machine."""

    given: Mapping[str, FactState] | None = None
    origin: str | None = None
    host: str | None = None


def examine(context: Context, patient: Patient, names: Iterable[str]) -> Collector:
    """Collect the facts that are asked for, from the file where one is given."""
    collector = Collector(context, patient.given, from_file=patient.origin)
    collector.ask(names)
    return collector


def diagnose(
    context: Context,
    patients: Iterable[Patient] = (Patient(),),
    *,
    ignored: Iterable[Ignored] = (),
    also_collect: Iterable[str] = (),
    language: str = "en",
) -> tuple[Diagnosis, list[Collector]]:
    """Judge each patient with every check whose versions apply; several hosts make one report.

    `also_collect` names facts to be collected although no check wants them (to save them).
    """
    started = time.monotonic()
    entries, faults = load_with_faults()
    names = facts_needed(entries) | set(also_collect) | {"launch", "interpreter", "packages", "gpus", "script"}
    outcomes, collectors = [], []
    patients = list(patients)
    for patient in patients:
        collector = examine(context, patient, names)
        outcome = run_checks(entries, collector.states)
        script = collector.states.get("script")
        outcome = suppress(outcome, ignored, script.value if script and script.status == "ok" else None)
        outcomes.append(_at_host(outcome, patient.host) if len(patients) > 1 else outcome)
        collectors.append(collector)
    outcome = outcomes[0] if len(outcomes) == 1 else _joined(outcomes)
    unread = tuple(Crashed(module, f"it cannot be read: {error}", "") for module, error in faults.items())
    outcome = replace(outcome, crashed=(*outcome.crashed, *unread))
    if language != "en":
        from doctor.core.reasons import localised_finding

        outcome = replace(outcome, findings=tuple(localised_finding(each, language) for each in outcome.findings))
    diagnosis = Diagnosis(
        "check",
        _target(context, collectors[0].states, len(collectors)),
        outcome,
        {entry.id: entry for entry in entries},
        language,
        time.monotonic() - started,
        fixable(entries),
    )
    return diagnosis, collectors


def _at_host(outcome: Outcome, host: str | None) -> Outcome:
    def placed(finding: Finding) -> Finding:
        return replace(finding, where=replace(finding.where, host=host))

    return replace(outcome, findings=tuple(placed(finding) for finding in outcome.findings))


def _joined(outcomes: list[Outcome]) -> Outcome:
    return Outcome(
        tuple(sorted((each for one in outcomes for each in one.findings), key=importance)),
        tuple(dict.fromkeys(each for one in outcomes for each in one.skipped)),
        tuple(each for one in outcomes for each in one.crashed),
        sum(one.checks_run for one in outcomes),
        sum(one.seconds for one in outcomes),
    )


def _target(context: Context, states: Mapping[str, FactState], hosts: int) -> Target:
    interpreter = _value(states, "interpreter")
    return Target(
        python=interpreter.executable if interpreter else None,
        argv=context.argv,
        files=tuple(_files(states)),
        summary=(*([f"{hosts} hosts, the first:"] if hosts > 1 else []), *summary(states)),
    )


def _value(states: Mapping[str, FactState], name: str) -> Any:
    state = states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _files(states: Mapping[str, FactState]) -> Iterable[str]:
    """Files of the user's that were read."""
    for name in ("script", "accelerate_config", "deepspeed_config", "trinity_config", "dataset"):
        value = _value(states, name)
        if value is not None and value.path:
            yield value.path


def summary(states: Mapping[str, FactState]) -> Iterable[str]:
    """What was examined, one clause each: interpreter, packages, GPUs."""
    if interpreter := _value(states, "interpreter"):
        yield f"python {interpreter.version} ({interpreter.environment_kind})"
    if packages := _value(states, "packages"):
        for name in SHOWN_PACKAGES:
            if version := packages.version(name):
                build = packages.torch_build
                yield f"{name} {build.version if name == 'torch' and build else version}"
    if gpus := _value(states, "gpus"):
        for name, count in Counter(gpu.name or "unknown GPU" for gpu in gpus.gpus).items():
            yield f"{count}x {name}"
        if gpus.driver_version:
            yield f"driver {gpus.driver_version}"
