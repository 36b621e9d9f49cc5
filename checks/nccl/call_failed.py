"""A call of NCCL failed, and the log does not say more.

## What it means
NCCL sorts its errors: a system error (sockets, shared memory, a network adapter), a CUDA error, an internal
error, or wrong use (two ranks on one GPU, ranks that call different things). Its own warnings tell which it
was, when they are switched on.
## What it does to a run
The process group is lost and the run ends.
## What to do
Run once more with NCCL_DEBUG=WARN or INFO.
## How it is found
In a log: by torch's exception, where no other problem accounts for it.
## References
https://github.com/NovaSky-AI/SkyRL/pull/143
https://github.com/NVIDIA/nccl/issues/1788
https://github.com/NVIDIA/nccl/issues/2101
https://github.com/meta-pytorch/torchtune/issues/2556
https://docs.vllm.ai/en/v0.9.2/usage/troubleshooting.html#known-issues
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

import re

from doctor.checks.nccl._last_words import LAST_WORDS
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC019", name="nccl-call-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NCCL [Ee]rror(?: in| \d{1,2})?: [^\n]{0,200}?(?P<kind>unhandled system error|unhandled "
        r"cuda error|internal error|invalid usage|invalid argument|remote process exited)",
        symptom_of=("NCC", "HST", "MEM", "TOR", "GPU", "CUD", "LCH", "TRL047"),
    ),
    Signature(
        r"^nccl(?P<code>SystemError|UnhandledCudaError|InternalError|InvalidUsage|InvalidArgument): ",
        symptom_of=("NCC", "HST", "MEM", "TOR", "GPU", "CUD", "LCH", "TRL047"),
    ),
    # the line that NCCL prints before it ends ("Last error:"), or its own warning; alone it proves nothing
    Signature(
        r"(?P<last>Error: network \S{1,40} not found|Error while attaching to shared memory segment"
        r"|API call is not supported in the installed CUDA driver|NVLink SHARP \(NVLS\) [Mm]ulticast"
        r"|[Mm]essage truncated ?:|Failed to CUDA (?:calloc|malloc|host alloc)|Cuda failure \d{0,4} ?'unknown error'"
        r"|Cuda failure \d{0,4} ?'(?:invalid device function|operation not supported)'"
        r"|transport/nvls\.cc:\d{1,5} NCCL WARN Cuda failure|Got async event : port error)",
        kind="sign",
    ),
    # glog's fatal line in frameworks of C++, which gives NCCL's result as a number
    Signature(
        r"Check failed: [^\n]{1,160}== ncclSuccess \((?P<number>[1-6]) vs\. 0\)",
        symptom_of=("NCC", "HST", "MEM", "TOR", "GPU", "CUD", "LCH", "TRL047"),
    ),
)

#: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html#ncclresult-t
_RESULTS = {"1": "cuda", "2": "system", "3": "internal", "4": "argument", "5": "usage", "6": "remote"}

SYSTEM = Message(
    en=Words(
        "an NCCL call failed with a system error",
        "A socket, shared memory or the network adapter refused: a too small `/dev/shm` "
        "(containers have 64 MB by default), a network interface that the other rank cannot "
        "reach, or a rank that is gone.",
        "Run once more with `NCCL_DEBUG=INFO` and read the `NCCL WARN` lines. Check `df -h /dev/"
        "shm` (docker: `--shm-size=16g` or `--ipc=host`), set `NCCL_SOCKET_IFNAME` to the "
        "interface that joins the nodes, and look for a rank that failed earlier.",
    ),
    zh=Words(
        "NCCL 调用因系统错误失败",
        "套接字、共享内存或网卡出错:`/dev/shm` 太小(容器默认 64 MB),对方 rank 无法到达的网卡,或已退出的 rank。",
        "设置 `NCCL_DEBUG=INFO` 再运行一次,阅读 `NCCL WARN` 行。检查 `df -h /dev/shm`(docker 用 "
        "`--shm-size=16g` 或 `--ipc=host`),把 `NCCL_SOCKET_IFNAME` 设为连接各节点的网卡,"
        "并查找更早失败的 rank。",
    ),
)

CUDA = Message(
    en=Words(
        "an NCCL call failed with a CUDA error",
        "A CUDA call inside NCCL failed: no memory left on the GPU, peer-to-peer access that "
        "does not work between these cards, a driver too old for this NCCL, or an earlier kernel "
        "that broke the context.",
        "Run once more with `NCCL_DEBUG=INFO`: its `NCCL WARN Cuda failure` line names the "
        "error. Look at `nvidia-smi` for free memory on every GPU, check that each rank has a "
        "GPU of its own, then try `NCCL_P2P_DISABLE=1` (and `NCCL_CUMEM_ENABLE=0`); upgrade the "
        "driver when it is older than the CUDA of torch.",
    ),
    zh=Words(
        "NCCL 调用因 CUDA 错误失败",
        "NCCL 内部的 CUDA 调用失败:GPU 没有空闲显存,这些卡之间的 P2P 不可用,驱动对该 NCCL 太旧,"
        "或之前的内核破坏了上下文。",
        "设置 `NCCL_DEBUG=INFO` 再运行一次:`NCCL WARN Cuda failure` 行会给出错误。用 "
        "`nvidia-smi` 查看每张 GPU 的空闲显存,确认每个 rank 独占一张 GPU,再尝试 "
        "`NCCL_P2P_DISABLE=1`(以及 `NCCL_CUMEM_ENABLE=0`);驱动比 torch 的 CUDA 旧时升级驱动。",
    ),
)

CUMEM = Message(
    en=Words(
        "NCCL between the trainer and its vLLM engine failed with a CUDA error",
        "vLLM sets `NCCL_CUMEM_ENABLE=0` for its own processes (up to 0.10), and NCCL fails or hangs where the two "
        "sides of a group differ in it. Else the GPU has no memory left for the new group, or two ranks share a card.",
        "`export NCCL_CUMEM_ENABLE=0` for all processes of the trainer (Ray: `runtime_env` `env_vars`, or before `ray "
        "start` on every node). If it stays, run with `NCCL_DEBUG=INFO` and look at the `NCCL WARN` lines and at free "
        "memory.",
    ),
    zh=Words(
        "训练进程与 vLLM 引擎之间的 NCCL 因 CUDA 错误失败",
        "vLLM(0.10 及以前)为自己的进程设置 `NCCL_CUMEM_ENABLE=0`,同一组内两侧不一致时 NCCL 会失败或挂住。否则是 GPU 没"
        "有显存建立新的组,或两个 rank 共用一张卡。",
        "为训练的所有进程 `export NCCL_CUMEM_ENABLE=0`(Ray:`runtime_env` 的 `env_vars`,或在每个节点 `ray start` 之前)。"
        "若仍然出现,请用 `NCCL_DEBUG=INFO` 运行,查看 `NCCL WARN` 行与空闲显存。",
    ),
)

USAGE = Message(
    en=Words(
        "NCCL was used in a way that it refuses",
        "Most often two ranks share one GPU (older NCCL says no more than this), because the "
        "script does not choose its GPU by rank or more processes than GPUs were started; else "
        "ranks disagree on which collective comes next.",
        "Start no more processes per node than GPUs (`--nproc_per_node`, `--num_processes`), and "
        'call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before the first collective;'
        " `NCCL_DEBUG=WARN` names the two ranks.",
    ),
    zh=Words(
        "NCCL 拒绝了这种用法",
        "多半是两个 rank 共用一张 GPU(旧版 NCCL 只给出这一句),因为脚本没有按 rank 选择 GPU,"
        "或启动的进程多于 GPU;否则是各 rank 对下一个集合通信不一致。",
        "每个节点启动的进程数不超过 GPU 数(`--nproc_per_node`、`--num_processes`),"
        '并在第一次集合通信前调用 `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`;'
        "`NCCL_DEBUG=WARN` 会指出是哪两个 rank。",
    ),
)

INTERNAL = Message(
    en=Words(
        "an internal check of NCCL failed",
        "Nodes with different NCCL versions, broken peer-to-peer or topology detection (virtual "
        "machines, MIG), or a rank that died while communication was set up.",
        'Compare `python -c "import torch; print(torch.cuda.nccl.version())"` on all nodes, run '
        "with `NCCL_DEBUG=INFO`, then try `NCCL_P2P_DISABLE=1`, `NCCL_IB_DISABLE=1` one after "
        "the other to find the transport; upgrade NCCL with torch.",
    ),
    zh=Words(
        "NCCL 的内部检查失败",
        "各节点 NCCL 版本不同,P2P 或拓扑检测异常(虚拟机、MIG),或某个 rank 在建立通信时退出。",
        '在所有节点比较 `python -c "import torch; print(torch.cuda.nccl.version())"`,设置 '
        "`NCCL_DEBUG=INFO` 运行,再依次尝试 `NCCL_P2P_DISABLE=1`、`NCCL_IB_DISABLE=1` "
        "找出出错的传输方式;随 torch 升级 NCCL。",
    ),
)


def _of_last(hits: Hits) -> Message | None:
    """The line that NCCL prints before it ends, where it tells more than the kind of error."""
    last = hits.get("last") or ""
    return next((message for part, message in LAST_WORDS.items() if part in last), None)


def explain(hits: Hits) -> Finding | None:
    """NCCL's own sorting tells where to look; a lost peer is another problem's."""
    told = f"{hits.get('kind') or ''} {hits.get('code') or ''} {_RESULTS.get(hits.get('number') or '', '')}".lower()
    if "remote" in told:
        return None
    message = _of_last(hits) or next((each for word, each in _BY_WORD if word in told), INTERNAL)
    if message is CUDA and any(_SYNC.search(frame) for hit in hits for frame in hit.frames):
        message = CUMEM
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)


_BY_WORD = (("system", SYSTEM), ("cuda", CUDA), ("usage", USAGE), ("argument", USAGE))
#: functions that hand weights to an engine
_SYNC = re.compile(r":(?:broadcast_to_inference_engines|_broadcast_to_vllm|update_weight\w{0,30}|update_named_param)$")
