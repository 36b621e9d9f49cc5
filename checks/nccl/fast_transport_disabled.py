"""A variable switches off the fast path between GPUs or machines that this machine has.

## What it means
NCCL_P2P_DISABLE, NCCL_P2P_LEVEL=LOC, NCCL_SHM_DISABLE or NCCL_IB_DISABLE is set, as one does while looking for a
hang, and the hardware that it switches off is there: NVLink between the GPUs, InfiniBand between the machines.
## What it does to a run
It works, slower: without P2P the data go through the host's memory instead of NVLink, without shared memory over the
network, without InfiniBand over TCP.
## What to do
Unset the variable once the hang is understood.
## How it is found
The variables as the run will have them, NVLinks by NVML, RDMA devices of the machine, ranks and machines of the
command.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-p2p-disable
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-disable
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import machines_of, ranks_here, shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.network import Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="NCC006", name="fast-transport-disabled", severity=WARNING, since="0.1")

NVLINK = Message(
    en=Words(
        "`{setting}` keeps NCCL off the NVLinks of {count} GPUs",
        "Data between the GPUs go through the host's memory instead, many times slower than over NVLink: every "
        "gradient and every gathered weight pays for it.",
        "Unset it. If the run then hangs, look for the cause: NVLink itself is rarely it.",
    ),
    zh=Words(
        "`{setting}` 使 NCCL 不使用 {count} 张 GPU 之间的 NVLink",
        "GPU 之间的数据改走主机内存,比 NVLink 慢许多倍:每次梯度归约和权重收集都要付出代价。",
        "取消该变量。如果之后挂住,再查原因:问题很少出在 NVLink 本身。",
    ),
)
SOCKETS = Message(
    en=Words(
        "`{first}` and `{second}` leave NCCL only the network on one machine",
        "Without P2P and without shared memory the GPUs of this machine talk over network sockets, the slowest way.",
        "Unset at least one of them.",
    ),
    zh=Words(
        "`{first}` 与 `{second}` 使 NCCL 在单机内也只能走网络",
        "既不用 P2P 也不用共享内存时,本机 GPU 之间通过网络 socket 通信,这是最慢的方式。",
        "至少取消其中一个变量。",
    ),
)
INFINIBAND = Message(
    en=Words(
        "`NCCL_IB_DISABLE={value}` on a machine with {devices}, in a run on {machines} machines",
        "NCCL talks TCP between the machines instead of RDMA, with a fraction of the bandwidth.",
        "Unset it, or limit NCCL to the devices that work with NCCL_IB_HCA.",
    ),
    zh=Words(
        "机器有 {devices},任务跨 {machines} 台机器,却设置了 `NCCL_IB_DISABLE={value}`",
        "NCCL 在机器之间走 TCP 而不是 RDMA,带宽只有一小部分。",
        "取消该变量,或用 NCCL_IB_HCA 只选用能正常工作的设备。",
    ),
)


def _p2p_off(environment: Environment, training: Training | None) -> tuple[str, str] | None:
    """Variable and value that switch P2P off (NCCL's src/graph/paths.cc)."""
    if value_of(environment, training, "NCCL_P2P_DISABLE") == "1":
        return "NCCL_P2P_DISABLE", "1"
    level = value_of(environment, training, "NCCL_P2P_LEVEL")
    return ("NCCL_P2P_LEVEL", level) if level in {"LOC", "0"} else None


@check(PROBLEM)
def inside_the_machine(
    environment: Environment,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """P2P off is no loss where there is no NVLink; together with shared memory off it always is."""
    off = _p2p_off(environment, training)
    if off is None or ranks_here(world, serving, verl_config, trinity_config) < 2:
        return
    setting, where, fix = "=".join(off), where_set(training, off[0]), (f"unset {off[0]}",)
    if value_of(environment, training, "NCCL_SHM_DISABLE") == "1":
        second = "NCCL_SHM_DISABLE=1"
        evidence = (*shown(*off), *shown("NCCL_SHM_DISABLE", "1"))
        fix = (f"unset {off[0]} NCCL_SHM_DISABLE",)
        yield found(PROBLEM, SOCKETS, first=setting, second=second, where=where, commands=fix, evidence=evidence)
        return
    visible = world.visible_gpus if world is not None and world.visible_gpus is not None else None
    linked = [gpu for gpu in gpus.gpus if gpu.nvlinks_active and (visible is None or gpu.index in visible)]
    if len(linked) > 1:
        yield found(
            PROBLEM, NVLINK, setting=setting, count=len(linked), where=where, commands=fix, evidence=shown(*off)
        )


@check(PROBLEM)
def between_machines(
    environment: Environment,
    network: Network,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """RDMA devices that exist and a run that spans machines."""
    value = value_of(environment, training, "NCCL_IB_DISABLE") or ""
    machines = machines_of(world, verl_config, trinity_config)
    if not value.strip().isdigit() or int(value) == 0 or machines < 2 or not network.infiniband:
        return
    yield found(
        PROBLEM,
        INFINIBAND,
        value=value,
        devices=", ".join(network.infiniband[:4]),
        machines=machines,
        where=where_set(training, "NCCL_IB_DISABLE"),
        commands=("unset NCCL_IB_DISABLE",),
        evidence=shown("NCCL_IB_DISABLE", value),
    )
