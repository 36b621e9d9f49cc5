"""NVSHMEM, which DeepEP sends experts' tokens with, does not come up.

## What it means
Expert parallelism over DeepEP talks through NVSHMEM. Between nodes that starts transfers from the GPU itself (IBGDA),
which the driver has to permit and the network card to support.
## What it does to a run
The engine or the trainer ends or stands still at the first exchange between experts.
## What to do
Permit it in the driver's options and restart, or use another way for the exchange.
## How it is found
In a log: by the words of NVSHMEM's transports and DeepEP's time-out.
## References
https://github.com/deepseek-ai/DeepEP/blob/main/third-party/README.md
https://github.com/deepseek-ai/DeepEP/issues/128
https://github.com/deepseek-ai/DeepEP/issues/223
https://docs.nvidia.com/nvshmem/api/gen/env.html
https://github.com/NVIDIA/nvshmem/issues/33
https://github.com/sgl-project/sglang/issues/12533
https://docs.vllm.ai/en/latest/serving/expert_parallel_deployment/
https://docs.nvidia.com/nvshmem/install-guide/
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC032", name="nvshmem-not-ready", severity=ERROR, since="0.1")

#: without a GPU-driven transport NVSHMEM goes on where one is not needed: within a node, or by way of the CPU
SIGNATURES = (
    Signature(r"nvshmemi_transport_init:\d{1,6}: init failed for transport: ", kind="warning"),
    Signature(r"ibgda\S{0,120}:\d{1,6}: (?:NULL value |non-zero status: \d{1,5} )", kind="warning"),
    Signature(r"nvshmemi_transport_init:\d{1,6}: Unable to initialize any transport"),
    Signature(
        r"nvshmem(?:i_check_state_and_)?init:\d{1,6}: nvshmem initialization failed, exiting",
        symptom_of=("MEM", "HST", "GPU", "TOR", "LCH"),
    ),
    Signature(r"\bbootstrap_uid\S{0,60}: (?P<uid>non-zero status: |Message truncated|Call to )", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "NVSHMEM could not set up its transport (IBGDA), so DeepEP has no way between experts",
        "The GPU is to drive the InfiniBand or RoCE card itself. The NVIDIA driver was not told to allow it, the "
        "module nvidia_peermem or dma-buf is missing, the container lacks `/dev/infiniband` and locked memory, or "
        "the card or its driver is too old. Time-outs of DeepEP on other ranks follow from it.",
        "On every host `/etc/modprobe.d/nvidia.conf`: `options nvidia NVreg_EnableStreamMemOPs=1 "
        'NVreg_RegistryDwords="PeerMappingOverride=1;"`, then `update-initramfs -u` and reboot; `modprobe '
        "nvidia_peermem`. Containers: `--device=/dev/infiniband --ulimit memlock=-1 --cap-add=IPC_LOCK`. Check "
        "with NVSHMEM's own perftests. Without it: another exchange "
        "(`--all2all-backend`/`VLLM_ALL2ALL_BACKEND=allgather_reducescatter` in vLLM, no `--moe-a2a-backend "
        "deepep` in SGLang, `--moe-token-dispatcher-type alltoall` without `--moe-enable-deepep` in Megatron).",
    ),
    zh=Words(
        "NVSHMEM 无法建立传输(IBGDA),DeepEP 无法在专家之间通信",
        "要由 GPU 直接驱动 InfiniBand 或 RoCE 网卡。NVIDIA 驱动没有允许这样做,缺少 nvidia_peermem 模块或 dma-buf,容"
        "器缺少 `/dev/infiniband` 与锁定内存,或网卡及其驱动太旧。其他 rank 上 DeepEP 的超时只是后果。",
        "在每台主机的 `/etc/modprobe.d/nvidia.conf` 中写入:`options nvidia NVreg_EnableStreamMemOPs=1 "
        'NVreg_RegistryDwords="PeerMappingOverride=1;"`,然后 `update-initramfs -u` 并重启;`modprobe '
        "nvidia_peermem`。容器:`--device=/dev/infiniband --ulimit memlock=-1 --cap-add=IPC_LOCK`。用 NVSHMEM 自带的"
        " perftest 检查。不用它时换一种交换方式:vLLM 用 "
        "`--all2all-backend`/`VLLM_ALL2ALL_BACKEND=allgather_reducescatter`,SGLang 不用 `--moe-a2a-backend "
        "deepep`,Megatron 用 `--moe-token-dispatcher-type alltoall` 且不加 `--moe-enable-deepep`。",
    ),
)

LOG_MESSAGE_RANKS = Message(
    en=Words(
        "NVSHMEM lost another rank while it set itself up",
        "Before any transport the ranks exchange what they have over plain sockets. The connection broke or the parts "
        "did not fit: another rank failed first (its own lines say why), two groups or runs mixed their messages, the "
        "ranks have different releases of NVSHMEM and DeepEP, or the address that a rank announced leads elsewhere.",
        "Look for the rank whose first NVSHMEM or CUDA line differs. The same image and `nvshmem-info -a` on all "
        "nodes; end processes of the run before. Name the interface that joins the nodes: `export "
        "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth0` (and `NCCL_SOCKET_IFNAME`), the cards with `NVSHMEM_HCA_LIST`. "
        "`NVSHMEM_DEBUG=INFO` tells more.",
    ),
    zh=Words(
        "NVSHMEM 在初始化时失去了另一个 rank",
        "在使用任何传输之前,各 rank 先通过普通套接字交换信息。连接断开或内容不符:另一个 rank 先失败(其自身的日志说明原"
        "因),两个组或两次运行的消息混在一起,各 rank 的 NVSHMEM、DeepEP 版本不同,或某 rank 通告的地址不可达。",
        "找出第一条 NVSHMEM 或 CUDA 报错与众不同的 rank。所有节点使用相同的镜像与 `nvshmem-info -a` 结果;结束上次运行"
        "残留的进程。指定连接各节点的网卡:`export NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth0`(以及 `NCCL_SOCKET_IFNAME`),"
        "用 `NVSHMEM_HCA_LIST` 指定 IB 卡。`NVSHMEM_DEBUG=INFO` 可给出更多信息。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """By the transport, or by the sockets of the first exchange."""
    if all(hit.groups.get("uid") for hit in hits):
        return None
    transport = any(hit.signature < _FAILED for hit in hits)
    message = LOG_MESSAGE_RANKS if hits.get("uid") and not transport else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)


_FAILED = 3  # position of the words that do not name the transport
