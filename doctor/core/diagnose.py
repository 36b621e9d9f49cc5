"""The main job: facts in, diagnosis out. What `doctor check` does, callable without a command line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doctor.core.fixes import fixable
from doctor.core.index import load_with_faults
from doctor.core.outcome import Crashed
from doctor.core.record import record
from doctor.core.report import Diagnosis, Target
from doctor.core.runner import facts_needed, run_checks
from doctor.core.suppress import Ignored, suppress
from doctor.facts.base import Context, FactState
from doctor.facts.collector import Collector, about_command

if TYPE_CHECKING:
    from doctor.facts.cluster import Cluster

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
    collector = Collector(context, _given(context, patient), from_file=patient.origin)
    collector.ask(names)
    return collector


def _given(context: Context, patient: Patient) -> Mapping[str, FactState] | None:
    """Facts of the file; of the launch command's it has none where it was written without one, and one is given now."""
    if patient.given is None:
        return None
    given = {name: state for name, state in patient.given.items() if name != "cluster"}
    if not context.argv or _value(given, "launch") is not None:
        return given
    return {name: state for name, state in given.items() if state.status == "ok" or not about_command(name)}


def diagnose(
    context: Context,
    patients: Iterable[Patient] = (Patient(),),
    *,
    cluster: Cluster | None = None,
    ignored: Iterable[Ignored] = (),
    also_collect: Iterable[str] = (),
    language: str = "en",
) -> tuple[Diagnosis, list[Collector]]:
    """Judge a machine, or the nodes of a cluster (several patients are one) each for itself and all together.

    `also_collect` names facts to be collected although no check wants them (to save them). The collector is that of the
    machine, of a cluster that of its first node; there is none where no node was heard.
    """
    started = time.monotonic()
    entries, faults = load_with_faults()
    names = facts_needed(entries) | set(also_collect) | {"launch", "interpreter", "packages", "gpus", "script"}
    patients = list(patients)
    cluster = cluster or (_cluster(patients) if len(patients) > 1 else None)
    if cluster is None:
        collectors = [examine(context, patients[0], names)]
        outcome = run_checks(entries, collectors[0].states)
    else:
        from doctor.cluster.judge import judge

        outcome, collectors = judge(context, cluster, entries, names, language)
    states = collectors[0].states if collectors else {}
    outcome = suppress(outcome, ignored, _value(states, "script"))
    unread = tuple(Crashed(module, f"it cannot be read: {error}", "") for module, error in faults.items())
    outcome = replace(outcome, crashed=(*outcome.crashed, *unread))
    if language != "en":
        from doctor.core.reasons import localised_finding

        outcome = replace(outcome, findings=tuple(localised_finding(each, language) for each in outcome.findings))
    diagnosis = Diagnosis(
        "check",
        _target(context, states, len(cluster.nodes) if cluster else 1, _measured(cluster)),
        outcome,
        {entry.id: entry for entry in entries},
        language,
        time.monotonic() - started,
        fixable(entries),
        nodes=_nodes(cluster),
    )
    return diagnosis, collectors


def _cluster(patients: list[Patient]) -> Cluster:
    """Hosts whose facts somebody put into files; two of one name are told apart."""
    from doctor.facts.cluster import Cluster, Node

    nodes: dict[str, Node] = {}
    for patient in patients:
        host = name = patient.host or patient.origin or "host"
        number = 2
        while name in nodes:
            name, number = f"{host}-{number}", number + 1
        nodes[name] = Node(name, facts=patient.given or {})
    return Cluster("folder", tuple(nodes.values()))


def _nodes(cluster: Cluster | None) -> Mapping[str, Any]:
    """The section of the report that lays the nodes side by side."""
    if cluster is None:
        return {}
    from doctor.cluster.matrix import section

    return section(cluster)


def _measured(cluster: Cluster | None) -> tuple[str, ...]:
    """What `--deep` measured between the nodes, as one clause."""
    if cluster is None or all(node.value("collectives") is None for node in cluster.nodes):
        return ()
    from doctor.cluster.measured import summary as measured

    clause = measured(cluster)
    return (clause,) if clause else ()


def _target(context: Context, states: Mapping[str, FactState], hosts: int, measured: tuple[str, ...]) -> Target:
    interpreter = _value(states, "interpreter")
    clauses = (*summary(states), *measured)
    return Target(
        python=interpreter.executable if interpreter else None,
        argv=context.argv,
        files=tuple(_files(states)),
        summary=_of_first(hosts, clauses) if hosts > 1 else clauses,
    )


def _of_first(hosts: int, clauses: tuple[str, ...]) -> tuple[str, ...]:
    return (f"{hosts:,} nodes, the first: {clauses[0]}", *clauses[1:]) if clauses else (f"{hosts:,} nodes",)


def _value(states: Mapping[str, FactState], name: str) -> Any:
    state = states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _files(states: Mapping[str, FactState]) -> Iterable[str]:
    """Files of the user's that were read."""
    for name in ("script", "accelerate_config", "deepspeed_config", "trinity_config", "dataset"):
        value = _value(states, name)
        if value is not None and value.path:
            yield value.path


def _nobodys(interpreter: Any, packages: Any) -> bool:
    """Whether the environment examined was made for the doctor, and nothing that trains is in it."""
    own = interpreter.chosen_because.startswith("the doctor's own")
    return own and packages is not None and packages.complete and not any(map(packages.version, SHOWN_PACKAGES))


def summary(states: Mapping[str, FactState]) -> Iterable[str]:
    """What was examined, one clause each: interpreter, packages, GPUs."""
    packages = _value(states, "packages")
    if interpreter := _value(states, "interpreter"):
        if _nobodys(interpreter, packages):
            yield f"python {interpreter.version}, the doctor's own: it trains nothing, name yours with --python"
        else:
            yield f"python {interpreter.version} ({interpreter.environment_kind})"
    if packages is not None:
        for name in SHOWN_PACKAGES:
            if version := packages.version(name):
                build = packages.torch_build
                yield f"{name} {build.version if name == 'torch' and build else version}"
    if gpus := _value(states, "gpus"):
        for name, count in Counter(gpu.name or "unknown GPU" for gpu in gpus.gpus).items():
            yield f"{count}x {name}"
        if gpus.driver_version:
            yield f"driver {gpus.driver_version}"
