"""Judges port-taken (LCH010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Skip, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import whole
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import SWIFT, Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CLASH = TOML["clash"]
SERVES = TOML["serves"]
MEETS = TOML["meets"]
WEIGHTS = TOML["weights"]
LINGERS = TOML["lingers"]


RAY_SERVER = 6  # place of the grpc server's words among the signatures
SERVER_PORT = 8000  # default of `vllm serve`, `trl vllm-serve` and both API servers
GROUP_PORT = 51216  # where TRL's own server meets the trainer for weights; `vllm_group_port` from TRL 0.27.0
RAY_PORT = 6379
#: binds without SO_REUSEADDR: vllm/entrypoints/openai/api_server.py of 0.6.2 and 0.6.3; 0.6.1 leaves it to uvicorn
NO_REUSE = ">=0.6.2,<0.6.4"
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1", "::"}  # noqa: S104 - compared, never bound


_FLAGS = {
    "accelerate": "--main_process_port 0", "torchrun": "--standalone", "deepspeed": "--master_port 29501",
    "swift": "export MASTER_PORT=29501",
}  # fmt: skip


def _rendezvous(launch: Launch, world: World) -> int | None:
    """Port that the first rank must open on this machine, None when there is none or it is another machine's."""
    if launch.kind not in {"accelerate", "torchrun", "deepspeed", "trl", "swift"} or runs_elsewhere(launch):
        return None
    if world.machine_rank or world.backend in {"none", None}:
        return None
    return world.master_port


@check(PROBLEM)
def own_port_taken(
    launch: Launch, network: Network, world: World | None, serving: Serving | None, packages: Packages | None
) -> Judgement:
    """Servers, rendezvous of the launchers, head node of Ray."""
    message, port = MEETS, None
    if launch.kind == "swift-rollout":
        return  # takes the next free one: swift/arguments/deploy_args.py, `find_free_port`
    if launch.serves and serving is not None:
        message, port = SERVES, SERVER_PORT if serving.port is None else serving.port
    elif launch.kind == "ray" and launch.option("head"):
        option = launch.option("port")
        message, port = SERVES, whole(option.value) if option else RAY_PORT
    elif world is not None:
        port = _rendezvous(launch, world)
    if not port or port not in network.listeners:
        return
    if message is MEETS and launch.kind in {"accelerate", "trl"} and (world is None or world.machines == 1):
        old = packages.matches("accelerate", "<1.8") if packages else None
        if old is None:
            yield Skip("accelerate's version is not known: from 1.8.0 it takes another port by itself")
        if not old:
            return
    flag = _FLAGS.get(launch.kind) if message is MEETS else f"--port {port + 1}"
    yield _finding(message, network, port, (flag,) if flag else ())


@check(PROBLEM)
def weight_port_taken(training: Training | None, network: Network, packages: Packages | None) -> Judgement:
    """TRL's own server and the trainer on the same machine, up to TRL 1.10."""
    if training is None or packages is None or not training.value("use_vllm"):
        return
    if training.config_origin == SWIFT:  # not TRL's server, and its option has another name
        return
    if not packages.matches("trl", ">=0.16,<1.11"):
        return
    server = network.endpoint("vllm_server")
    if server is None or server.host not in LOCAL or training.value("vllm_mode") == "colocate":
        return
    port = whole(training.value("vllm_group_port")) or GROUP_PORT
    if port in network.listeners:
        yield _finding(WEIGHTS, network, port, (f"--vllm_group_port {port + 1}",), LIKELY)


@check(PROBLEM)
def own_port_not_free_yet(
    launch: Launch, network: Network, serving: Serving | None, packages: Packages | None
) -> Judgement:
    """Connections of a server that has just ended, for the releases that cannot bind beside them."""
    if launch.kind not in {"vllm-serve", "vllm-openai-server"} or serving is None or packages is None:
        return
    port = SERVER_PORT if serving.port is None else serving.port
    if not packages.matches("vllm", NO_REUSE) or port in network.listeners:
        return
    if network.lingering is None:
        yield Skip("the kernel's table of connections could not be read")
    elif port in network.lingering:
        yield found(
            PROBLEM, LINGERS, port=port, version=packages.version("vllm"), severity=WARNING, confidence=LIKELY,
            commands=('pip install -U "vllm>=0.6.4"',),
            evidence=(Observed.quoted("connections", f"0.0.0.0:{port}, closed and not yet forgotten"),),
        )  # fmt: skip


def _finding(
    message: Message, network: Network, port: int, commands: tuple[str, ...], confidence: Confidence = CONFIRMED
) -> Finding:
    listener = network.listeners[port]
    holder = f"`{listener.process}` (PID {listener.pid})" if listener.process else "another process"
    return found(
        PROBLEM,
        message,
        port=port,
        holder=holder,
        commands=commands,
        confidence=confidence,
        evidence=(Observed.quoted("listening ports", f"{listener.address}:{port}"),),
    )


def explain(hits: Hits) -> Finding:
    """With the port where the line tells it; likely only where the line hedges.

    Ray's line does, and a warning of c10d's: an agent that cannot bind may be a client of the one that could.
    """
    port = hits.get("port")
    if component := hits.first.groups.get("component"):
        return found(
            PROBLEM, CLASH, where=hits.where(), evidence=hits.evidence(), port=hits.first.groups["port"],
            component=component,
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if hits.of(RAY_SERVER) or all(each.level == "W" for each in hits) else CONFIRMED,
        port=port or "",
    )
