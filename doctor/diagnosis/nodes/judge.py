"""Judges every node with the checks of one machine, and all nodes together with the checks of a cluster.

What nodes share is judged once: a check is pure, so equal facts (by identity, see `doctor.cluster.alike`) give an equal
answer. What several nodes have alike becomes one finding that names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.base.evidence import Observations, Observed
from doctor.base.fact import NO_COMMAND, Context, world_of
from doctor.base.record import record, replace
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed, Outcome
from doctor.diagnosis.nodes.classes import Classes
from doctor.diagnosis.nodes.joined import joined_findings, joined_skips
from doctor.diagnosis.runner import RunState, bites_of, in_order, in_order_of_importance, judge_entry, run_checks
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.environment import Environment
from doctor.readers.collector import Collector, about_command, about_elsewhere
from doctor.readers.command.launchers import understand

ORIGIN = "the node's facts"
CLUSTER = "cluster"
#: which of several nodes or processes a process is: no matter of the command
_PLACES = frozenset({
    "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "ROLE_RANK", "PET_NODE_RANK", "SLURM_NODEID", "SLURM_PROCID",
    "SLURM_LOCALID", "SLURM_TASK_PID", "SLURM_GTIDS", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR", "HOSTNAME",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK", "PMI_RANK",
})  # fmt: skip


@record
class _Part:
    """What one problem's checks gave, and the nodes whose facts are those that were judged."""

    run: RunState
    hosts: list[str]


def judge(
    context: Context, cluster: Cluster, entries: Iterable[Entry], names: set[str], language: str = "en"
) -> tuple[Outcome, list[Collector]]:
    """The outcome over all nodes that were heard, and a collector with the facts of the first of them."""
    started = time.monotonic()
    outcome, states = _judged(context, cluster, list(entries), names, language)
    outcome = replace(outcome, seconds=time.monotonic() - started)
    return outcome, [Collector(context, each, from_file=ORIGIN) for each in states[:1]]


def _judged(
    context: Context, cluster: Cluster, entries: list[Entry], names: set[str], language: str
) -> tuple[Outcome, list[Mapping[str, Observed]]]:
    states = _states_of_nodes(context, cluster, names)
    parts, checks_run = _judged_parts([_with(entry, whole=False) for entry in entries], cluster, states)
    together = run_checks(
        [_with(entry, whole=True) for entry in entries], world_of(_whole(context, cluster, states, names))
    )
    findings = [*joined_findings(((each.run.findings, each.hosts) for each in parts), language), *together.findings]
    heard = len(cluster.heard)
    outcome = Outcome(
        in_order_of_importance(findings, bites_of(entries)),
        tuple(
            dict.fromkeys([*joined_skips(((each.run.skipped, each.hosts) for each in parts), heard), *together.skipped])
        ),
        (*_crashes(parts), *together.crashed),
        checks_run + together.checks_run,
        0.0,
    )
    return outcome, states


def _with(entry: Entry, *, whole: bool) -> Entry:
    """A problem with those of its checks that judge all nodes, or one."""
    checks = tuple(each for each in entry.checks if any(fact == CLUSTER for fact, _ in each.facts.values()) is whole)
    return replace(entry, checks=checks)


def _judged_parts(
    entries: list[Entry], cluster: Cluster, states: list[Mapping[str, Observed]]
) -> tuple[list[_Part], int]:
    """Each problem over each class of nodes that it cannot tell apart.

    Returns what had something to say, and how many checks ran over all nodes.
    """
    hosts = [node.name for node in cluster.heard]
    classes = Classes(states)
    found: dict[str, set[int]] = {}
    worlds: dict[int, Observations] = {}  # of the nodes that stand for a class: there may be thousands
    parts, checks_run, run = [], 0, RunState()
    for entry in in_order(entries):
        needs = {need for each in entry.checks for need in each.requires if need in found}
        for members in classes.of(entry, found):
            run.found_ids = {need for need in needs if members[0] in found[need]} if needs else set()
            if (first := members[0]) not in worlds:
                worlds[first] = world_of(states[first])
            judge_entry(run, entry, worlds[first])
            if run.findings:
                found.setdefault(entry.id, set()).update(members)
            checks_run += run.checks_run * len(members)
            run.checks_run = 0
            if run.findings or run.skipped or run.crashed:
                parts.append(_Part(run, [hosts[number] for number in members]))
                run = RunState()  # most have nothing to say, and one serves for all of those
    return parts, checks_run


def _crashes(parts: Iterable[_Part]) -> tuple[Crashed, ...]:
    """A bug of ours, once, however many nodes it was met on."""
    crashed = {(each.id, each.error): each for part in parts for each in part.run.crashed}
    return tuple(crashed.values())


def _states_of_nodes(context: Context, cluster: Cluster, names: set[str]) -> list[Mapping[str, Observed]]:
    """Facts of each node: its own, the launch command's where it is given here, and why the others are missing."""
    lacking = {name: Observed.unseen(f"not in {ORIGIN}") for name in names}
    one = Observed.unseen("one machine is judged", applies=False)
    elsewhere = {name: one for name in names if about_elsewhere(name)}
    commands = _Commands(context, {name for name in names if about_command(name)})
    named = _Named()
    return [named.all({**lacking, **_own(node), **commands.of(node), **elsewhere}) for node in cluster.heard]


class _Named:
    """Names facts as a world does: once each, for most nodes have most of them in common."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[Observed, Observed]] = {}  # with what has the identity, to keep it

    def all(self, states: Mapping[str, Observed]) -> dict[str, Observed]:
        """The facts of one node."""
        return {name: self._of(name, each) for name, each in states.items()}

    def _of(self, name: str, state: Observed) -> Observed:
        known = self._known.get((name, id(state)))
        if known is None:
            known = self._known[name, id(state)] = (state, replace(state, name=name))
        return known[1]


def _own(node: ClusterNode) -> dict[str, Observed]:
    return {name: state for name, state in node.facts.items() if name != CLUSTER}


class _Commands:
    """Facts about the launch command, read once for all nodes that have the same packages and GPUs."""

    def __init__(self, context: Context, names: set[str]) -> None:
        self._context, self._names = context, names
        self._missing = {name: Observed.unseen(NO_COMMAND) for name in names}
        self._known: dict[tuple[Any, ...], Mapping[str, Observed]] = {}
        launch = understand(context.argv, str(context.cwd)) if context.argv else None
        self._assigned = dict(launch.environment) if launch else {}

    def of(self, node: ClusterNode) -> Mapping[str, Observed]:
        """What the command given here makes of a node's facts; nothing where the node has looked at one itself."""
        if node.value("launch") is not None:
            return {}
        if not self._context.argv:
            return {} if "launch" in node.facts else self._missing
        variables = _shared(node)
        cards = (
            ()
            if (gpus := node.value("gpus")) is None
            else tuple((each.index, each.name, each.memory_total_bytes) for each in gpus.gpus)
        )
        key = (
            id(node.facts.get("packages")),
            id(node.facts.get("interpreter")),
            cards,
            tuple(sorted(variables.items())),
        )
        if key not in self._known:
            self._known[key] = self._read(node, variables)
        return {**self._known[key], **self._environment(node, node.value("environment"))}

    def _read(self, node: ClusterNode, variables: Mapping[str, str]) -> Mapping[str, Observed]:
        given = {name: state for name, state in _own(node).items() if name not in self._names}
        given |= self._environment(node, Environment(variables))
        collector = Collector(self._context, given, from_file=ORIGIN)
        collector.ask(self._names)
        return {name: collector.states[name] for name in self._names}

    def _environment(self, node: ClusterNode, environment: Environment | None) -> Mapping[str, Observed]:
        """The node's variables with what the command sets in front of itself laid over them."""
        if environment is None or "environment" not in node.facts:
            return {}
        merged = {**environment.variables, **self._assigned}
        return {"environment": Observed.seen(Environment(merged, tuple(self._assigned)))}


def _shared(node: ClusterNode) -> dict[str, str]:
    """Variables of a node that do not tell which node it is."""
    environment = node.value("environment")
    variables = {} if environment is None else environment.variables
    return {name: value for name, value in variables.items() if name not in _PLACES}


def _whole(
    context: Context, cluster: Cluster, states: list[Mapping[str, Observed]], names: set[str]
) -> Mapping[str, Observed]:
    """Facts for the checks of the whole: all nodes, and what the first of them knows of the command and packages."""
    first = states[0] if states else Collector(context, {}, from_file=ORIGIN).states
    missing = {name: Observed.unseen(NO_COMMAND) for name in names}
    return {**missing, **first, CLUSTER: Observed.seen(cluster)}
