"""NCCL's plug-in for the network of AWS (EFA) could not be used.

## What it means
On AWS NCCL reaches the Elastic Fabric Adapter through a plug-in (aws-ofi-nccl) and libfabric. The instance, the
container's devices, the security group and the versions of NCCL, plug-in and libfabric have to fit together.
## What it does to a run
The communicator fails to start, or NCCL falls back to sockets, many times slower or not reachable at all.
## What to do
Pass the devices, open the security group, install the current EFA software.
## How it is found
In a log: by the plug-in's warnings (NET/OFI).
## References
https://github.com/aws/aws-ofi-nccl/issues/584
https://github.com/NVIDIA/nccl/issues/229
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="NCC036", name="efa-not-usable", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"NCCL WARN NET/OFI (?:Unable to register memory|Couldn't (?:open|set|register|enable|create|bind)"
            r"|Creating new endpoint|Failed to (?:register|initialize|create|open|set)|Request \S{1,40} comple"
            r"ted with error)[^\n]{0,160}"
        ),
        Message(
            en=Words(
                "the plug-in that joins NCCL to AWS EFA (aws-ofi-nccl) failed in libfabric",
                "Most often the versions do not fit: NCCL 2.19 and newer need the libfabric of EFA installer "
                "1.29 or newer, and an image built for one libfabric runs on another. Else the EFA devices are "
                "not in the container, locked memory is limited, or the security group does not let the "
                "instance talk to itself.",
                "Upgrade the EFA software in the image and on the host (`aws-efa-installer-latest.tar.gz`, "
                "`./efa_installer.sh -y -g`; it brings libfabric and the plug-in), or until then `export "
                "FI_EFA_SET_CUDA_SYNC_MEMOPS=0` (registering memory fails with -22), or an older NCCL. Start "
                "containers with `--device /dev/infiniband/uverbs0 ... --ulimit memlock=-1`. The security "
                "group must allow all traffic from and to itself. `fi_info -p efa` must list the adapters.",
            ),
            zh=Words(
                "连接 NCCL 与 AWS EFA 的插件(aws-ofi-nccl)在 libfabric 中失败",
                "多为版本不配:NCCL 2.19 及以上需要 EFA installer 1.29 及以上附带的 libfabric,或镜像是为另一版本"
                " libfabric 构建的。否则是容器中没有 EFA 设备、锁页内存受限,或安全组不允许实例之间通信。",
                "在镜像与主机上升级 EFA 软件(`aws-efa-installer-latest.tar.gz`,`./efa_installer.sh -y -g`,自带 "
                "libfabric 与插件);在此之前可 `export FI_EFA_SET_CUDA_SYNC_MEMOPS=0`(内存注册返回 -22 时),或使"
                "用较旧的 NCCL。容器启动加 `--device /dev/infiniband/uverbs0 ... --ulimit memlock=-1`。安全组必"
                "须允许自身的全部流量。`fi_info -p efa` 应能列出适配器。",
            ),
        ),
    ),
    (
        (
            r"NCCL WARN NET/OFI (?:Could ?n[o']t find any (?:optimal|eligible) provider|No eligible providers "
            r"were found|Only EFA provider is supported|Couldn't find any optimal provider)"
        ),
        Message(
            en=Words(
                "NCCL's plug-in for AWS found no EFA adapter, so the nodes talk over plain sockets",
                "libfabric lists no provider efa: the instance type has none, none is attached, its driver is "
                "missing, or the container was started without the devices. What follows runs over TCP: much "
                "slower, and it stands still where the security group or the chosen interface does not let it "
                "through.",
                "`fi_info -p efa` and `ls /dev/infiniband` on the host and in the container: attach EFA to the "
                "instance (a type that has it), install the driver (`efa_installer.sh -y`), and pass the "
                "devices (`--device /dev/infiniband/uverbs0`, Kubernetes: `vpc.amazonaws.com/efa`). To go on "
                "with sockets take the plug-in away (`NCCL_NET_PLUGIN=none`), set `NCCL_SOCKET_IFNAME` to the "
                "nodes' interface and open the ports.",
            ),
            zh=Words(
                "NCCL 的 AWS 插件没有找到 EFA 适配器,节点之间改用普通套接字",
                "libfabric 没有列出 efa provider:实例类型没有 EFA、未挂载、缺少驱动,或容器启动时没有传入设备。"
                "之后走 TCP:慢得多,若安全组或所选网卡不通则会停住。",
                "在主机与容器内执行 `fi_info -p efa` 与 `ls /dev/infiniband`:为实例挂载 EFA(选择支持的类型),安"
                "装驱动(`efa_installer.sh -y`),传入设备(`--device "
                "/dev/infiniband/uverbs0`,Kubernetes:`vpc.amazonaws.com/efa`)。若继续用套接字:去掉插件"
                "(`NCCL_NET_PLUGIN=none`),将 `NCCL_SOCKET_IFNAME` 设为节点间网卡并放开端口。",
            ),
        ),
    ),
)

#: without the second the run goes on, only slower
SIGNATURES = (Signature(CASES[0][0]), Signature(CASES[1][0], kind="warning"))


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
