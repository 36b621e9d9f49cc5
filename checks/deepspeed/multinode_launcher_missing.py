"""DeepSpeed's launcher wants pdsh (or MPI) for several nodes, and it is not installed.

## What it means
With a hostfile of more than one host, or `--force_multi`, the `deepspeed` launcher starts the other nodes
through pdsh by default.
## What it does to a run
The launcher raises RuntimeError before any process starts.
## What to do
Install pdsh, or start the same command on each node with torchrun or `--no_ssh`.
## How it is found
Before launch, where the hostfile names several hosts and PATH gives no pdsh. In a log: by the launcher's exception.
## References
https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/launcher/runner.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.commands import Commands
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="DSP029", name="deepspeed-multinode-launcher-missing", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"RuntimeError: launcher '(?P<launcher>\w{1,20})' not installed"),)

LOG_MESSAGE = Message(
    en=Words(
        "the `deepspeed` launcher needs `{launcher}` for several nodes, and it is not installed",
        "A hostfile with more than one host (or `--force_multi`) makes it start the others through `{launcher}`.",
        "Install it (`apt-get install pdsh` or your cluster's module), or start each node by itself: "
        "`torchrun --nnodes N --node-rank R --rdzv-endpoint HOST:PORT`, or `deepspeed --no_ssh "
        "--node_rank R --master_addr HOST`; for a single node remove `/job/hostfile` or pass `--hostfile "
        "/dev/null`.",
    ),
    zh=Words(
        "`deepspeed` 启动器多机启动需要 `{launcher}`,但未安装",
        "含多个主机的 hostfile(或 `--force_multi`)使它通过 `{launcher}` 启动其他节点。",
        "安装它(`apt-get install pdsh` 或集群的模块),或逐个节点启动:`torchrun --nnodes N --node-rank R "
        "--rdzv-endpoint HOST:PORT`,或 `deepspeed --no_ssh --node_rank R --master_addr HOST`;单机时删除 "
        "`/job/hostfile` 或传入 `--hostfile /dev/null`。",
    ),
)


@check(PROBLEM)
def multinode_launcher_missing(launch: Launch, world: World, commands: Commands) -> Judgement:
    """Only pdsh, the default: the others are named by people who have them."""
    if launch.kind != "deepspeed" or world.machines is None or world.machines < 2:
        return
    if launch.option("launcher") is not None or launch.option("no_ssh") is not None or "pdsh" in commands.found:
        return
    hosts = launch.option("hostfile")
    yield found(
        PROBLEM,
        LOG_MESSAGE,
        where=place_of(hosts),
        evidence=(*proofs(hosts), Evidence("PATH", "no `pdsh`")),
        launcher="pdsh",
    )
