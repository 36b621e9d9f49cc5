"""Judges ranks-do-not-fit-nodes (LCH029), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.allocation import job_nodes, tasks_of_a_node
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
TOO_FEW = TOML["too_few"]
TOO_FEW_GPUS = TOML["too_few_gpus"]
TWICE = TOML["twice"]
NOBODY = TOML["nobody"]
ODD = TOML["odd"]
SPLIT = TOML["split"]
FIRST_ONLY = TOML["first_only"]
FEW_ALLOCATED = TOML["few_allocated"]
MANY_LAUNCHERS = TOML["many_launchers"]
ONE_NUMBER = TOML["one_number"]
ABOVE = TOML["above"]

#: options of launchers for a node's number, and for the number of nodes
_NUMBERED = {"torchrun": ("node_rank", "nnodes"), "accelerate": ("machine_rank", "num_machines")}

#: they start a command on other nodes
_SPREADING = frozenset({"srun", "mpirun", "mpiexec", "pdsh", "ssh"})
#: start the processes of a node themselves, so that a node needs one of them
_LAUNCHERS = frozenset({"accelerate", "torchrun", "deepspeed"})


@check(PROBLEM)
def command_fits_nodes(cluster: Cluster, launch: Launch, world: World) -> Judgement:
    """Only what the command asks for over all machines; fewer machines than nodes is a choice."""
    there = len(cluster.nodes)
    evidence = (Observed.quoted("launch command", " ".join(launch.argv)),)
    if not launch.trains or (world.machines or 1) < 2:
        return
    if (world.machines or 1) > there:
        yield found(PROBLEM, TOO_FEW, wanted=world.machines, there=there, confidence=LIKELY, evidence=evidence)
        return
    gpus = [node.value("gpus") for node in cluster.nodes]
    if world.backend in {None, "none", "cpu", "tpu"} or world.processes is None or None in gpus:
        return
    total = sum(len(each.gpus) for each in gpus if each is not None)
    if 0 < total < world.processes:
        yield found(PROBLEM, TOO_FEW_GPUS, wanted=world.processes, there=total, evidence=evidence)


@check(PROBLEM)
def number_below_the_count(launch: Launch) -> Judgement:
    """Nodes are counted from 0; a dynamic rendezvous gives out the numbers itself, and takes a range of nodes."""
    names = _NUMBERED.get(launch.kind)
    backend = launch.option("rdzv_backend")
    dynamic = launch.kind == "torchrun" and backend is not None and backend.value != "static"
    if names is None or dynamic or launch.option("standalone") is not None:
        return
    number, count = (launch.option(name) for name in names)
    rank = whole(number.value) if number is not None and number.known else None
    nodes = (whole(count.value) if count.known else None) if count is not None else 1
    if rank is None or nodes is None or rank < nodes or (count is None and launch.kind != "torchrun"):
        return
    evidence = tuple(
        Observed.quoted("launch command", f"--{each.name} {each.value}") for each in (number, count) if each is not None
    )
    yield found(PROBLEM, ABOVE, option=names[0], rank=rank, machines=nodes, last=nodes - 1, evidence=evidence)


@check(PROBLEM)
def job_starts_its_nodes(launch: Launch, world: World | None) -> Judgement:
    """A batch script runs on the first node alone; what shall run on all of them stands behind `srun`."""
    nodes = job_nodes(launch) if "sbatch" in launch.wrappers else None
    spread = _SPREADING & {*launch.wrappers, *(name for each in launch.beside for name in each.wrappers)}
    by_itself = launch.kind in {"deepspeed", "verl", "ray", "trinity", "unknown"}  # these start the other nodes
    if nodes is None or not launch.trains or by_itself or _may_not_run(launch):
        return
    evidence = (Observed.quoted("sbatch", f"nodes: {nodes}"), Observed.quoted("launch command", " ".join(launch.argv)))
    if nodes > 1 and not spread:
        waits = world is not None and (world.machines or 1) > 1
        yield found(
            PROBLEM, FIRST_ONLY, count=nodes, severity=ERROR if waits else WARNING, confidence=LIKELY, evidence=evidence
        )  # fmt: skip
    elif world is not None and (world.machines or 1) > nodes:
        yield found(PROBLEM, FEW_ALLOCATED, wanted=world.machines, count=nodes, confidence=LIKELY, evidence=evidence)


def _may_not_run(launch: Launch) -> bool:
    """Whether the line hangs on a condition; a word of it that is known only in the job says nothing of that."""
    return any("may not" in clause for clause in launch.unclear)


@check(PROBLEM)
def one_launcher_a_node(launch: Launch, world: World) -> Judgement:
    """A launcher in every task of a node: each makes processes for all cards of it."""
    tasks = tasks_of_a_node(launch)
    if launch.kind not in _LAUNCHERS or tasks is None or tasks[0] < 2 or (world.local_processes or 1) < 2:
        return
    count, setting = tasks
    yield found(
        PROBLEM, MANY_LAUNCHERS, count=count, launcher=launch.kind, processes=world.local_processes, confidence=LIKELY,
        commands=("srun --ntasks-per-node=1",),
        evidence=(Observed.quoted(setting.name, setting.text), Observed.quoted("command", " ".join(launch.argv))),
    )  # fmt: skip


@check(PROBLEM)
def every_node_its_own_number(launch: Launch, world: World) -> Judgement:
    """`srun` runs the same words on all nodes; a variable of the node that the batch script expands is the first's."""
    name = {"accelerate": "machine_rank", "torchrun": "node_rank"}.get(launch.kind)
    setting = launch.options.get(name) if name is not None else None
    number = whole(setting.value) if setting is not None and setting.known else None
    if "srun" not in launch.wrappers or setting is None or number is None or not _on_all_nodes(launch):
        return
    backend = launch.options.get("rdzv_backend")
    if "rdzv_endpoint" in launch.options or (backend is not None and backend.value != "static"):
        return  # which gives the numbers itself
    if (world.machines or 1) > 1:
        yield found(
            PROBLEM, ONE_NUMBER, name=f"--{name}", number=number, machines=world.machines, confidence=LIKELY,
            where=place_of(setting), commands=(f"srun bash -c '... --{name} $SLURM_NODEID ...'",),
            evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
        )  # fmt: skip


def _on_all_nodes(launch: Launch) -> bool:
    """Whether `srun` spreads the command over more than one node."""
    options = launch.wrapper_options
    if "srun.nodelist" in options or ("srun.ntasks" in options and whole(options["srun.ntasks"].value) == 1):
        return False
    nodes = whole(options["srun.nodes"].value) if "srun.nodes" in options else job_nodes(launch)
    return (nodes or 1) > 1


@check(PROBLEM)
def places_fit_nodes(cluster: Cluster) -> Judgement:
    """Ranks as the nodes' own variables tell them; Ray gives its ranks itself."""
    if cluster.engine == "ray":
        return
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("nodes of the run")))
    ranks: dict[int, list[str]] = {}
    for node in cluster.heard:
        rank = _rank(node)
        if rank is not None:
            ranks.setdefault(rank, []).append(node.name)
    for rank, hosts in sorted(ranks.items()):
        if len(hosts) > 1:
            yield found(
                PROBLEM, TWICE, rank=rank, count=len(hosts), hosts=folded(hosts, 3), where=Where(host=hosts[0]),
                nodes=tuple(hosts), evidence=(Observed.quoted("environment", f"rank {rank}: {folded(hosts, 6)}"),),
            )  # fmt: skip
    yield from _gaps(cluster, set(ranks))


def _rank(node: ClusterNode) -> int | None:
    facts = node.value("node")
    return node.rank if node.rank is not None or facts is None else facts.rank


def _gaps(cluster: Cluster, ranks: set[int]) -> Iterator[Finding]:
    """Ranks that no node has, where every node tells its own; nodes that were not heard are told elsewhere."""
    numbers = [facts.nodes for node in cluster.heard if (facts := node.value("node")) is not None and facts.nodes]
    if len(numbers) < len(cluster.nodes) or len(set(numbers)) != 1 or len(ranks) < len(cluster.nodes):
        return
    missing = sorted(set(range(numbers[0])) - ranks)
    if missing:
        told = folded(map(str, missing), 4)
        yield found(PROBLEM, NOBODY, wanted=numbers[0], ranks=told, severity=WARNING, confidence=LIKELY)
