"""A port that the command must open is taken.

## What it means
Another process listens on the port where this command wants to serve or where its ranks want to meet.
## What it does to a run
A server ends with `address already in use`, after it loaded the model or before. `torchrun` and `deepspeed` end with
`EADDRINUSE`; `accelerate launch` before 1.8.0, and on several machines still, with a `ConnectionError`. From 1.8.0
accelerate takes a free port by itself on a single machine.
## What to do
End the process that holds the port, or name another port.
## How it is found
Listening TCP ports of this machine against the port that the command resolves to.
## References
https://github.com/huggingface/accelerate/blob/v1.7.0/src/accelerate/utils/launch.py
https://docs.pytorch.org/docs/stable/elastic/run.html
https://huggingface.co/docs/trl/vllm_integration
https://github.com/OpenNMT/OpenNMT-py/issues/1298
https://github.com/deepspeedai/DeepSpeed/issues/3916
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Confidence, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import whole
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import SWIFT, Training
from doctor.facts.world import World

PROBLEM = Problem(id="LCH010", name="port-taken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The server socket has failed to listen on [^\n]{0,80}?port: (?P<port>\d{1,5}),"
        r" [^\n]{0,60}EADDRINUSE"
    ),
    Signature(
        r"The server socket has failed to (?:listen on|bind to) \[[^\]\n]{1,40}\]:(?P<port>\d{1,5})"
        r" \(errno: 98"
    ),
    Signature(r"\[Errno 98\] error while attempting to bind on address \('[^'\n]{0,60}', (?P<port>\d{1,5})\)"),
    Signature(r"OSError: \[Errno 98\] (?!error while attempting)"),
    Signature(r"The server socket has failed to listen on any local network address\. [^\n]{0,60}code: -98"),
    Signature(r"ConnectionError: Ray is trying to start at \S{1,80}:(?P<port>\d{2,5}), but is already running at"),
    Signature(
        r"ValueError: Ray component (?P<component>\w{1,40}) is trying to use a port number (?P<port>\d{2,5}) that is "
        r"used by other"
    ),
    Signature(r"^ValueError: [\w .-]{1,60} at (?P<port>\d{2,5}) is not available in \d{1,5} seconds"),
    Signature(r"ZMQError: Address already in use(?: \(addr='tcp://[^'\s]{1,120}:(?P<port>\d{1,5})'\))?"),
    Signature(r"Failed to start the grpc server\. The specified port is (?P<port>[1-9]\d{0,4})\."),
    Signature(
        r"ConnectionError: Tried to launch distributed communication on port `(?P<port>\d{1,5})`, but another process"
    ),
    Signature(
        r"Error: Address already in use(?:: (?:[^\s:]{1,80}:)?(?P<port>\d{2,5})| \(os error 98\)| \(98\))?$",
        keywords=("Error: Address already in use",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{which} is already in use by another process",
        "Two runs on one machine want the same port, a process of an earlier run still holds it, or several tasks of "
        "one `srun` each start the launcher. torchrun's default is 29500, `vllm serve` takes 8000, accelerate 29500, "
        "TRL's weight group 51216.",
        "Choose another free port: `torchrun --master_port 29501` (or `--rdzv-endpoint "
        "localhost:0`), `accelerate launch --main_process_port 29501` (0 picks a free one), "
        "`deepspeed --master_port 29501`, `--port` for a server. Or end the other process, which `ss "
        "-ltnp` shows.",
    ),
    zh=Words(
        "{which_zh}已被其他进程占用",
        "同一机器上的两个任务使用相同端口、先前任务的进程仍占用它,或一个 `srun` 的多个 task 各自启动了 launcher。"
        "torchrun 默认 29500,`vllm serve` 为 8000,accelerate 为 29500,TRL 的权重通信组为 51216。",
        "换一个空闲端口:`torchrun --master_port 29501`(或 `--rdzv-endpoint localhost:0`)、"
        "`accelerate launch --main_process_port 29501`(0 表示自动选择)、`deepspeed --master_port "
        "29501`、服务器用 `--port`。或结束占用的进程(用 `ss -ltnp` 查看)。",
    ),
)

CLASH = Message(
    en=Words(
        "Ray was given port {port} twice: for its {component} and for another part of it",
        "No other process is at fault: the ports that `ray start` was given, or its defaults, overlap. Workers take "
        "10002 to 19999 unless told otherwise, the client server 10001, the dashboard 8265, the GCS 6379. Where ports "
        "are drawn at random, one may fall into the workers' range.",
        "Read the list that Ray prints below, and move one: `--min-worker-port` and `--max-worker-port` (or "
        "`--worker-port-list`), `--port`, `--ray-client-server-port`, `--dashboard-port`, `--node-manager-port`, "
        "`--object-manager-port`. Where a random port fell into the range, start again.",
    ),
    zh=Words(
        "Ray 的端口 {port} 被分配了两次:一次给 {component},一次给它的另一个组件",
        "不是其他进程的问题:传给 `ray start` 的端口或其默认值互相重叠。未指定时 worker 使用 10002 至 19999,client "
        "server 为 10001,dashboard 为 8265,GCS 为 6379。随机选取的端口也可能落入 worker 的范围。",
        "查看 Ray 在下面打印的列表,并改动其中之一:`--min-worker-port` 与 `--max-worker-port`(或 `--worker-port-list`)、"
        "`--port`、`--ray-client-server-port`、`--dashboard-port`、`--node-manager-port`、`--object-manager-port`。若是"
        "随机端口落入该范围,重新启动即可。",
    ),
)

RAY_SERVER = 6  # place of the grpc server's words among the signatures
SERVER_PORT = 8000  # default of `vllm serve`, `trl vllm-serve` and both API servers
GROUP_PORT = 51216  # where TRL's own server meets the trainer for weights; `vllm_group_port` from TRL 0.27.0
RAY_PORT = 6379
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1", "::"}  # noqa: S104 - compared, never bound

SERVES = Message(
    en=Words(
        "Port {port} is taken by {holder}",
        "The server cannot listen there and ends with `address already in use`.",
        "End that process, or serve on another port and tell the trainer.",
    ),
    zh=Words(
        "端口 {port} 已被 {holder} 占用",
        "服务器无法在该端口监听,会以 `address already in use` 退出。",
        "结束该进程,或换一个端口并告诉训练端。",
    ),
)
MEETS = Message(
    en=Words(
        "Port {port}, where the ranks are to meet, is taken by {holder}",
        "The first rank cannot listen there and the launch ends with `EADDRINUSE` or a `ConnectionError`.",
        "End that process, or name a free port.",
    ),
    zh=Words(
        "各 rank 汇合所用的端口 {port} 已被 {holder} 占用",
        "第一个 rank 无法在该端口监听,启动会以 `EADDRINUSE` 或 `ConnectionError` 结束。",
        "结束该进程,或指定一个空闲端口。",
    ),
)
WEIGHTS = Message(
    en=Words(
        "Port {port}, where TRL sends weights to the vLLM server, is taken by {holder}",
        "The server opens this port when the trainer asks it to, and cannot. An earlier or a second training on this "
        "machine is the usual holder.",
        "End the other training and start its server anew, or give this one another `vllm_group_port` (TRL 0.27.0 on).",
    ),
    zh=Words(
        "TRL 向 vLLM 服务器传权重所用的端口 {port} 已被 {holder} 占用",
        "训练端请求时服务器要打开该端口,但打不开。占用者通常是本机上先前的或另一个训练。",
        "结束另一个训练并重启其服务器,或给本次训练换一个 `vllm_group_port`(TRL 0.27.0 起)。",
    ),
)

_FLAGS = {
    "accelerate": "--main_process_port 0", "torchrun": "--standalone", "deepspeed": "--master_port 29501",
    "swift": "export MASTER_PORT=29501",
}  # fmt: skip


def _rendezvous(launch: Launch, world: World) -> int | None:
    """Port that the first rank must open on this machine, None when there is none or it is another machine's."""
    if launch.kind not in {"accelerate", "torchrun", "deepspeed", "trl", "swift"} or "srun" in launch.wrappers:
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
        evidence=(Evidence("listening ports", f"{listener.address}:{port}"),),
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
        which=f"port {port}" if port else "a port that the run wants to open",
        which_zh=f"端口 {port} " if port else "任务要打开的某个端口",
    )
