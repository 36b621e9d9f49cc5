"""NCCL cannot use the description of the machine that it was given.

## What it means
NCCL reads the tree of CPUs, PCI bridges, GPUs and adapters from `/sys`, or from an XML file that `NCCL_TOPO_FILE`
names. The network plug-in of a cloud image sets that variable by itself on its instance types.
## What it does to a run
The first collective ends with an internal error on ranks whose GPUs the file does not describe in full.
## What to do
Let NCCL look for itself, or upgrade the plug-in.
## How it is found
In a log: by NCCL's warning about the attribute that is missing.
## References
https://github.com/NVIDIA/nccl/issues/573
https://github.com/NVIDIA/nccl/issues/511
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-topo-file
https://github.com/NVIDIA/nccl/issues/379
https://github.com/NVIDIA/nccl/issues/1726
https://github.com/aws/aws-ofi-nccl/issues/785
https://github.com/pytorch/pytorch/issues/140541
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC038", name="topology-file-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:NCCL WARN |^)Attribute (?P<attribute>\w{1,20}) of node (?P<node>cpu|pci|gpu|nic|net|system) not found"
    ),
    Signature(
        r"Could not find real path of /sys/class/pci_bus/(?P<bus>[\da-f:]{4,20})", keywords=("/sys/class/pci_bus/",)
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "NCCL's description of this machine lacks `{attribute}` of a `{node}`",
        "The description comes from a file: one that `NCCL_TOPO_FILE` names, or the one that aws-ofi-nccl before 1.11 "
        "sets for p4d and p5 instances. It is malformed, of another machine, or describes more than this process may "
        "see (a part of the GPUs, a container), so that NCCL finds nothing to fill the gap with.",
        "`env | grep NCCL_TOPO_FILE`, and look for `NCCL_TOPO_FILE set` in the `NCCL_DEBUG=INFO` lines. Unset it: NCCL "
        "looks for itself. On AWS upgrade aws-ofi-nccl (1.13.2 or newer, with the EFA installer), which describes only "
        "what is there; in virtual machines take the file that the provider gives for this instance type.",
    ),
    zh=Words(
        "NCCL 所用的机器拓扑描述中,`{node}` 缺少 `{attribute}`",
        "该描述来自文件:由 `NCCL_TOPO_FILE` 指定,或由 1.11 之前的 aws-ofi-nccl 在 p4d、p5 实例上自动设置。文件格式不"
        "对、属于另一种机器,或描述的内容多于该进程可见的(只用部分 GPU、容器),NCCL 无法补全。",
        "`env | grep NCCL_TOPO_FILE`,并在 `NCCL_DEBUG=INFO` 的输出中查找 `NCCL_TOPO_FILE set`。取消该变量,让 NCCL 自行"
        "探测。AWS 上升级 aws-ofi-nccl(1.13.2 或更新,随 EFA installer),它只描述实际存在的设备;虚拟机中使用云厂商为该机"
        "型提供的文件。",
    ),
)

NO_TREE = Message(
    en=Words(
        "NCCL does not find the GPU at PCI bus {bus} under `/sys`",
        "It looks there how GPUs and adapters are joined. WSL2 has no such tree, which NCCL before 2.10 cannot do "
        "without; a container or sandbox without `/sys`, or a virtual machine that renames its buses, looks the same.",
        "On WSL2 take a newer torch: it brings its own NCCL (`python -c 'import torch; "
        "print(torch.cuda.nccl.version())'` should say 2.10 or newer), with a single GPU none is needed at all. In "
        "containers mount `/sys` (docker does so by itself), and see that `ls /sys/class/pci_bus` lists the bus that "
        "`nvidia-smi` shows.",
    ),
    zh=Words(
        "NCCL 在 `/sys` 下找不到位于 PCI 总线 {bus} 的 GPU",
        "NCCL 从那里了解 GPU 与网卡的连接方式。WSL2 没有这棵树,而 2.10 之前的 NCCL 离不开它;没有 `/sys` 的容器或沙箱、"
        "更改总线编号的虚拟机也会如此。",
        "WSL2 上使用较新的 torch,它自带 NCCL(`python -c 'import torch; print(torch.cuda.nccl.version())'` 应为 2.10 或"
        "更新);单卡则完全不需要 NCCL。容器中挂载 `/sys`(docker 默认会挂载),并确认 `ls /sys/class/pci_bus` 中有 "
        "`nvidia-smi` 显示的总线。",
    ),
)

MESSAGES = (LOG_MESSAGE, NO_TREE)


def explain(hits: Hits) -> Finding:
    """A file that lacks something, or a tree that is not there."""
    bus = hits.first.groups.get("bus")
    return found(
        PROBLEM, NO_TREE if bus else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        bus=bus, attribute=hits.get("attribute"), node=hits.get("node"),
    )  # fmt: skip
