"""The main job: facts in, diagnosis out. What `doctor check` does, callable without a command line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.base.record import record, replace
from doctor.catalogue.index import Entry, load_with_faults
from doctor.catalogue.outcome import Crashed, Outcome, crash_of
from doctor.diagnosis.offers import Judged, offered
from doctor.diagnosis.report import Diagnosis, Subject
from doctor.diagnosis.runner import facts_needed, run_checks
from doctor.diagnosis.suppress import Ignored, suppress
from doctor.facts.target import INACTIVE
from doctor.readers.collector import Collector, about_command

if TYPE_CHECKING:
    from doctor.facts.cluster import Cluster
    from doctor.facts.launch import Launch
    from doctor.facts.network import Endpoint, Network
    from doctor.facts.packages import Packages

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

    given: Mapping[str, Observed] | None = None
    origin: str | None = None
    host: str | None = None


def examine(context: Context, patient: Patient, names: Iterable[str]) -> Collector:
    """Collect the facts that are asked for, from the file where one is given."""
    collector = Collector(context, _given(context, patient), from_file=patient.origin)
    collector.ask(names)
    return collector


def _given(context: Context, patient: Patient) -> Mapping[str, Observed] | None:
    """Facts of the file; of the launch command's it has none where it was written without one, and one is given now."""
    if patient.given is None:
        return None
    given = {name: state for name, state in patient.given.items() if name != "cluster"}
    if not context.argv or _value(given, "launch") is not None:
        return given
    return {name: state for name, state in given.items() if state.status == "ok" or not about_command(name)}


def judge(context: Context, also_collect: Iterable[str] = ()) -> Judged:
    """Judge this machine, for those who go on with what was judged (`doctor fix`)."""
    entries, _ = load_with_faults()
    collector = examine(context, Patient(), facts_needed(entries) | set(also_collect))
    return Judged(tuple(entries), run_checks(entries, collector.world), collector)


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
        outcome = run_checks(entries, collectors[0].world)
    else:
        from doctor.diagnosis.nodes.judge import judge as judge_nodes

        outcome, collectors = judge_nodes(context, cluster, entries, names, language)
    states = collectors[0].states if collectors else {}
    outcome = suppress(outcome, ignored, _value(states, "script"))
    outcome = _with_remedies(tuple(entries), outcome, None if cluster is not None else collectors[0])
    fixes = offered(Judged(tuple(entries), outcome, collectors[0])) if collectors else frozenset()
    unread = tuple(Crashed(module, f"it cannot be read: {error}", "") for module, error in faults.items())
    outcome = _localised(replace(outcome, crashed=(*outcome.crashed, *unread)), language)
    diagnosis = Diagnosis(
        "check",
        _target(context, states, len(cluster.nodes) if cluster else 1, _measured(cluster)),
        outcome,
        {entry.id: entry for entry in entries},
        language,
        time.monotonic() - started,
        fixes,
        nodes=_nodes(cluster),
    )
    return diagnosis, collectors


def _localised(outcome: Outcome, language: str) -> Outcome:
    """The outcome with the reasons that its findings quote in the user's language."""
    if language == "en":
        return outcome
    from doctor.catalogue.reasons import localised_finding

    return replace(outcome, findings=tuple(localised_finding(each, language) for each in outcome.findings))


def _with_remedies(entries: tuple[Entry, ...], outcome: Outcome, collector: Collector | None) -> Outcome:
    """The outcome without commands that cannot be carried out, undo each other, or do not mend what they are for.

    Several machines (no collector) are different patients: only what undoes each other is told for them.
    """
    if not any(each.commands for each in outcome.findings):
        return outcome
    from doctor.diagnosis.proving import proven
    from doctor.diagnosis.remedies import reviewed
    from doctor.diagnosis.situation import situation_of

    try:
        situation = situation_of(collector.states) if collector is not None else None
        outcome = replace(outcome, findings=reviewed(outcome.findings, situation)[0])
        if collector is not None:
            outcome = replace(outcome, findings=proven(Judged(entries, outcome, collector))[0])
    except Exception as exc:  # noqa: BLE001 - a bug of ours costs the trial, never the report
        return replace(outcome, crashed=(*outcome.crashed, crash_of("remedies", exc)))
    return outcome


def _cluster(patients: list[Patient]) -> Cluster:
    """Hosts whose facts somebody put into files; two of one name are told apart."""
    from doctor.facts.cluster import Cluster, ClusterNode

    nodes: dict[str, ClusterNode] = {}
    for patient in patients:
        host = name = patient.host or patient.origin or "host"
        number = 2
        while name in nodes:
            name, number = f"{host}-{number}", number + 1
        nodes[name] = ClusterNode(name, facts=patient.given or {})
    return Cluster("folder", tuple(nodes.values()))


def _nodes(cluster: Cluster | None) -> Mapping[str, Any]:
    """The section of the report that lays the nodes side by side."""
    if cluster is None:
        return {}
    from doctor.diagnosis.nodes.matrix import section

    return section(cluster)


def _measured(cluster: Cluster | None) -> tuple[str, ...]:
    """What `--deep` measured between the nodes, as one clause."""
    if cluster is None or all(node.value("collectives") is None for node in cluster.nodes):
        return ()
    from doctor.catalogue.nodes.measured import summary as measured

    clause = measured(cluster)
    return (clause,) if clause else ()


def _target(context: Context, states: Mapping[str, Observed], hosts: int, measured: tuple[str, ...]) -> Subject:
    interpreter = _value(states, "interpreter")
    clauses = (*summary(states), *measured)
    return Subject(
        python=interpreter.executable if interpreter else None,
        argv=context.argv,
        files=tuple(_files(states)),
        summary=_of_first(hosts, clauses) if hosts > 1 else clauses,
    )


def _of_first(hosts: int, clauses: tuple[str, ...]) -> tuple[str, ...]:
    return (f"{hosts:,} nodes, the first: {clauses[0]}", *clauses[1:]) if clauses else (f"{hosts:,} nodes",)


def _value(states: Mapping[str, Observed], name: str) -> Any:
    state = states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _files(states: Mapping[str, Observed]) -> Iterable[str]:
    """Files of the user's that were read."""
    for name in ("script", "accelerate_config", "deepspeed_config", "trinity_config", "dataset"):
        value = _value(states, name)
        if value is not None and value.path:
            yield value.path


def _nobodys(interpreter: Any, packages: Any) -> bool:
    """Whether the environment examined was made for the doctor, and nothing that trains is in it."""
    own = interpreter.chosen_because.startswith("the doctor's own")
    return own and packages is not None and packages.complete and not any(map(packages.version, SHOWN_PACKAGES))


def _read_from(launch: Launch) -> Iterable[str]:
    """Which command of a script was judged, and what of it is not known."""
    place = launch.read_from[-1]
    where = f"{place.file}:{place.line}" if place.line else place.file
    yield f"the command of {where}: {' '.join(launch.argv[:3])}"
    yield from launch.unclear


def summary(states: Mapping[str, Observed]) -> Iterable[str]:
    """What was examined, one clause each: interpreter, packages, GPUs."""
    packages = _value(states, "packages")
    if (launch := _value(states, "launch")) is not None and launch.read_from:
        yield from _read_from(launch)
    if interpreter := _value(states, "interpreter"):
        if _nobodys(interpreter, packages):
            yield f"python {interpreter.version}, the doctor's own environment: pass --python to check yours"
        elif interpreter.chosen_because.startswith(INACTIVE):
            yield f"python {interpreter.version}, {interpreter.chosen_because}"
        else:
            yield f"python {interpreter.version} ({interpreter.environment_kind})"
    if packages is not None:
        yield from _releases(packages)
    if gpus := _value(states, "gpus"):
        for name, count in Counter(gpu.name or "unknown GPU" for gpu in gpus.gpus).items():
            yield f"{count}x {name}"
        if gpus.driver_version:
            yield f"driver {gpus.driver_version}"
    yield from _asked(_value(states, "network"))
    if words := _value(states, "framework_words"):
        yield f"called {words.program} {words.version}'s own validator ({words.seconds:.0f} s)"


def _releases(packages: Packages) -> Iterable[str]:
    """The packages that matter, and where their releases are known from if they are not installed."""
    if packages.pinned:
        yield f"packages as pinned in {packages.source}, because this Python has none that train"
    for name in SHOWN_PACKAGES:
        if version := packages.version(name):
            build = packages.torch_build
            yield f"{name} {build.version if name == 'torch' and build else version}"


def _asked(network: Network | None) -> Iterable[str]:
    """The addresses of the command that were asked, and what they said."""
    for endpoint in network.endpoints if network is not None else ():
        if endpoint.answers is not None:
            yield f"queried {endpoint.host}:{endpoint.port}{_of(endpoint)}"


def _of(endpoint: Endpoint) -> str:
    """What an address said of itself, in brackets."""
    if not endpoint.answers:
        return " (no answer)"
    if endpoint.version or endpoint.served:
        return f" (vLLM {endpoint.version or '?'}, {', '.join(endpoint.served[:2]) or 'no model named'})"
    return f" ({endpoint.answer_s:.1f} s)" if endpoint.answer_s is not None else ""
