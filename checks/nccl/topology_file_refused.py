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
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-topo-file
https://github.com/NVIDIA/nccl/issues/379
https://github.com/NVIDIA/nccl/issues/1726
https://github.com/aws/aws-ofi-nccl/issues/785
https://github.com/pytorch/pytorch/issues/140541
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC038", name="topology-file-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:NCCL WARN |^)Attribute (?P<attribute>\w{1,20}) of node (?P<node>cpu|pci|gpu|nic|net|system) not found"
    ),
)

LOG_CONFIDENCE = LIKELY

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
        "该描述来自文件:由 `NCCL_TOPO_FILE` 指定,或由 1.11 之前的 aws-ofi-nccl 在 p4d、p5 实例上自动设置。文件格式不对"
        "、属于另一种机器"
        ",或描述的内容多于该进程可见的(只用部分 GPU、容器),NCCL 无法补全。",
        "`env | grep NCCL_TOPO_FILE`,并在 `NCCL_DEBUG=INFO` 的输出中查找 `NCCL_TOPO_FILE set`。取消该变量,让 NCCL "
        "自行探测。AWS 上升级 aws-ofi-nccl(1.13.2 或更新,随 EFA installer),它只描述实际存在的设备;虚拟机中使用云厂商为"
        "该机型提供的"
        "文件。",
    ),
)
