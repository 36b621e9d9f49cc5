"""The memory that may be locked is limited, and the run uses InfiniBand.

## What it means
RDMA needs the buffers that the network card reads locked in memory, and the limit for that is a few megabytes.
## What it does to a run
NCCL fails while it connects the machines: `Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory`.
## What to do
Remove the limit: `--ulimit memlock=-1` for a container, `memlock unlimited` in limits.conf, LimitMEMLOCK=infinity for
a service such as slurmd.
## How it is found
Limit of a process started here, RDMA devices, and the number of machines of the command. The administrator of a
machine is exempt, that of a container is not.
In a log: by the words of NCCL or libibverbs.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
https://github.com/NVIDIA/nccl-tests/issues/206
"""

from __future__ import annotations

from doctor.checks.host._helpers import MIB, size
from doctor.checks.nccl._helpers import machines_of, runs_elsewhere, value_of
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="HST004", name="memlock-limited", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"ibv_(?:reg_mr\w{0,12}|create_cq|create_qp|alloc_pd)[^\n]{0,40} failed with error Cannot allocate memory"
    ),
    Signature(r"ibv_create_(?:cq|qp)\(\) failed: Cannot allocate memory"),
    Signature(r"Failed to register memory 0x[0-9a-f]{1,16}: Cannot allocate memory \[12\]"),  # of Mooncake
    # only a warning: what stays below the limit, and what goes over TCP, runs
    Signature(r"[Ll]ibibverbs: Warning: RLIMIT_MEMLOCK is (?P<bytes>\d{1,12}) bytes", kind="warning"),
)

LOG_MESSAGE = Message(
    en=Words(
        "InfiniBand could not pin memory: the limit of locked memory is too low",
        "RDMA pins its buffers; the process may lock only a few megabytes (`ulimit -l`), as "
        "containers and schedulers set it, and NCCL's network transport cannot be set up.",
        "Raise it where the process is started: docker `--ulimit memlock=-1`, Slurm "
        "`PropagateResourceLimitsExcept=MEMLOCK` with `LimitMEMLOCK=infinity` in slurmd's unit, "
        "else `* - memlock unlimited` in `/etc/security/limits.conf`; check with `ulimit -l`. "
        "`NCCL_IB_DISABLE=1` runs over TCP meanwhile.",
    ),
    zh=Words(
        "InfiniBand 无法锁定内存:可锁定内存的上限太低",
        "RDMA 需要锁定缓冲区;该进程只能锁定几 MB(`ulimit -l`),这由容器或调度器设定,NCCL 的网络传输因此无法建立。",
        "在启动进程的地方提高:docker `--ulimit memlock=-1`,Slurm 用 "
        "`PropagateResourceLimitsExcept=MEMLOCK` 并在 slurmd 单元中设 `LimitMEMLOCK=infinity`,"
        "其他情况在 `/etc/security/limits.conf` 写 `* - memlock unlimited`;用 `ulimit -l` 检查。"
        "期间可用 `NCCL_IB_DISABLE=1` 走 TCP。",
    ),
)
#: the card's own room for registered memory runs out in the same words
LOG_CONFIDENCE = LIKELY
SMALL_BYTES = 64 * MIB  # 64 KiB and 8 MiB are the kernel's and systemd's defaults

MESSAGE = Message(
    en=Words(
        "{limit} may be locked in memory, and {device} needs more over {machines} machines",
        "RDMA locks every buffer that the network card reads. NCCL fails while it connects the machines, with "
        "`Call to ibv_reg_mr failed with error Cannot allocate memory`.",
        "Remove the limit for this user or container.",
    ),
    zh=Words(
        "只允许锁定 {limit} 内存,而跨 {machines} 台机器的 {device} 需要更多",
        "RDMA 要锁定网卡读取的每块缓冲区。NCCL 在连接各机器时会以 `Call to ibv_reg_mr failed with error Cannot "
        "allocate memory` 失败。",
        "为该用户或容器取消此限制。",
    ),
)


@check(PROBLEM)
def memlock_limited(
    host: Host,
    launch: Launch,
    network: Network,
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge runs over several machines that have RDMA devices and use them."""
    machines, limit = machines_of(world, verl_config, trinity_config), host.memlock_soft_bytes
    if machines < 2 or not network.infiniband or runs_elsewhere(launch) or limit is None:
        return
    exempt = host.user_is_root and host.container is None
    if limit < 0 or limit > SMALL_BYTES or exempt or value_of(environment, training, "NCCL_IB_DISABLE") == "1":
        return
    contained = host.container in {"docker", "podman"}
    yield found(
        PROBLEM,
        MESSAGE,
        limit=size(limit) if limit >= MIB else f"{limit // 1024} KiB",
        device=network.infiniband[0],
        machines=machines,
        confidence=LIKELY,
        commands=("docker run --ulimit memlock=-1" if contained else "ulimit -l unlimited",),
        evidence=(Evidence("RLIMIT_MEMLOCK", f"soft {limit} bytes"),),
    )
