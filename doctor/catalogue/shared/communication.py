"""What the checks of NCCL, of the host and of performance share: how many ranks talk, and over which interfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Confidence, Finding, Message, Where, found
from doctor.catalogue.nodes.compare import has_no_gpu
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import Problem, Severity
from doctor.catalogue.settings import place_of, whole
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Interface
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

#: start processes on machines of their choice, whose interfaces and limits are not this machine's
ELSEWHERE = frozenset({"srun", "mpirun", "mpiexec", "ssh", "sbatch"})
_VERL_GPUS_PER_NODE = 8  # trainer.n_gpus_per_node in verl/trainer/config/ppo_trainer.yaml
_VERL_NODES = 1


def runs_elsewhere(launch: Launch) -> bool:
    """Whether a wrapper may start the processes on other machines than this one, or in a container."""
    return launch.image is not None or not ELSEWHERE.isdisjoint(launch.wrappers)


def _number_of(setting: Observed | None, otherwise: int) -> int:
    """A readable whole number, else `otherwise`."""
    value = whole(setting.value) if setting is not None and setting.known else None
    return otherwise if value is None else value


def ranks_here(
    world: World | None, serving: Serving | None, verl: VerlConfig | None = None, trinity: TrinityConfig | None = None
) -> int:
    """GPU processes of one group on this machine, as far as the command tells; 0 where it tells none."""
    if serving is not None:
        return serving.tensor_parallel_size * serving.pipeline_parallel_size
    if verl is not None:
        return _number_of(verl.get("trainer.n_gpus_per_node"), _VERL_GPUS_PER_NODE)
    if trinity is not None:
        return _number_of(trinity.settings.get("cluster.gpu_per_node"), 0)
    if world is None or world.backend in {None, "none", "cpu", "tpu"}:
        return 0
    return world.local_processes or 0


def machines_of(world: World | None, verl: VerlConfig | None = None, trinity: TrinityConfig | None = None) -> int:
    """Machines of the run, 1 where that is not told."""
    if verl is not None:
        return _number_of(verl.get("trainer.nnodes"), _VERL_NODES)
    if trinity is not None:
        return _number_of(trinity.settings.get("cluster.node_num"), 1)
    return (world.machines or 1) if world is not None else 1


def group_size(
    world: World | None, serving: Serving | None, verl: VerlConfig | None = None, trinity: TrinityConfig | None = None
) -> int:
    """Ranks of the whole run, as far as the command tells."""
    here = ranks_here(world, serving, verl, trinity)
    everywhere = (world.processes or 0) if world is not None and world.backend not in {None, "none", "cpu"} else 0
    return max(here, here * machines_of(world, verl, trinity), everywhere)


def value_of(environment: Environment, training: Training | None, name: str) -> str | None:
    """Value of a variable as the run will have it: what the script sets replaces what the shell has."""
    own = training.environment_set.get(name) if training is not None else None
    if own is not None:
        return str(own.value) if own.known else None
    return environment.get(name)


def first_set(environment: Environment, training: Training | None, names: Iterable[str]) -> tuple[str, str] | None:
    """The first of several names of one variable that has a value, and the value: torch takes it so."""
    values = ((name, value_of(environment, training, name)) for name in names)
    return next(((name, value) for name, value in values if value is not None), None)


def where_set(training: Training | None, name: str) -> Where | None:
    """Place where the script sets a variable, None when the shell does."""
    return place_of(training.environment_set.get(name) if training is not None else None)


def shown(name: str, value: str) -> tuple[Observed, ...]:
    """A variable as evidence."""
    return (Observed.quoted("environment", f"{name}={value}"),)


def judged_by_node(launch: Launch | None) -> bool:
    """Whether a command says that the ranks start on the nodes themselves: then each node was judged already."""
    return launch is not None and not runs_elsewhere(launch)


def interface_absent_on_nodes(
    problem: Problem,
    message: Message,
    cluster: Cluster,
    variable: str,
    lacks: Callable[[str, tuple[Interface, ...]], bool],
    *,
    severity: Severity,
    confidence: Confidence,
) -> Iterator[Finding]:
    """For each value of a variable the nodes on which it names no usable interface.

    Args:
        problem: what is found.
        message: with the braces {variable}, {value} and {hosts}.
        cluster: all nodes.
        variable: NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME.
        lacks: whether a value selects nothing that can be used among these interfaces.
        severity: of the findings.
        confidence: of the findings.

    """
    for value, (hosts, interfaces) in _without_interface(cluster, variable, lacks).items():
        yield found(
            problem,
            message,
            variable=variable,
            value=value,
            hosts=folded(hosts, 3),
            confidence=confidence,
            severity=severity,
            where=Where(host=hosts[0]),
            nodes=tuple(hosts),
            evidence=(*shown(variable, value), Observed.quoted(hosts[0], names(interfaces))),
        )


def _without_interface(
    cluster: Cluster, variable: str, lacks: Callable[[str, tuple[Interface, ...]], bool]
) -> dict[str, tuple[list[str], tuple[Interface, ...]]]:
    """Value of a variable -> nodes on which it names no usable interface, and the interfaces of the first of them."""
    without: dict[str, tuple[list[str], tuple[Interface, ...]]] = {}
    for node in cluster.heard:
        if variable.startswith("NCCL_") and has_no_gpu(node):
            continue  # no NCCL runs there
        environment, network = node.value("environment"), node.value("network")
        value = environment.get(variable) if environment is not None else None
        if value and network is not None and lacks(value, network.interfaces):
            without.setdefault(value, ([], network.interfaces))[0].append(node.name)
    return without


def is_usable(interface: Interface) -> bool:
    """Whether a socket can be bound to an address of it."""
    return interface.is_up and bool(interface.addresses)


def selected(pattern: str, interfaces: tuple[Interface, ...]) -> tuple[Interface, ...]:
    """Interfaces that NCCL leaves for a value of NCCL_SOCKET_IFNAME, usable or not.

    A leading `^` excludes, `=` after it asks for whole names, else the names in the list are beginnings
    (NCCL's ncclOsFindInterfaces, https://github.com/NVIDIA/nccl/blob/master/src/os/linux.cc).
    """
    exclude = pattern.startswith("^")
    rest = pattern[1:] if exclude else pattern
    exact = rest.startswith("=")
    wanted = [each for each in (rest[1:] if exact else rest).split(",") if each]

    def matches(name: str) -> bool:
        if not wanted:
            return True
        return any(name == each if exact else name.startswith(each) for each in wanted)

    return tuple(each for each in interfaces if matches(each.name) != exclude)


def names(interfaces: tuple[Interface, ...]) -> str:
    """`eth0`, `lo` for a sentence."""
    return ", ".join(f"`{each.name}`" for each in interfaces) or "none"
