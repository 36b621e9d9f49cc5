"""Judges hccl-failed (NCC029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LINK = TOML["link"]
OPERATION = TOML["operation"]
NETWORK = TOML["network"]
PORT = TOML["port"]
OTHER = TOML["other"]
DTYPE = TOML["dtype"]


#: code -> its words; what waits for another rank is the usual case
WORDS = {"EI0006": LINK, "EI0009": LINK, "EI0002": OPERATION, "EI0013": NETWORK, "EJ0003": PORT}


#: HcclResult of CANN's header hccl_types.h, as far as the name tells something
RESULTS = {
    "1": ("a parameter is wrong", "参数错误"), "3": ("memory could not be allocated", "内存申请失败"),
    "4": ("an internal error", "内部错误"), "5": ("not supported on this NPU or topology", "该 NPU 或拓扑不支持"),
    "6": ("something it looked for is not there", "所查找的对象不存在"),
    "7": ("a resource is not available, often a port or a device that is in use", "资源不可用,常为端口或设备被占用"),
    "8": ("a system call failed", "系统调用失败"), "9": ("a time-out", "超时"),
    "11": ("a TCP connection failed", "TCP 连接失败"), "12": ("a RoCE connection failed", "RoCE 连接失败"),
    "13": ("a transfer over TCP failed", "TCP 传输失败"), "14": ("a transfer over RoCE failed", "RoCE 传输失败"),
    "15": ("the runtime of CANN refused a call", "CANN runtime 拒绝了调用"),
    "16": ("the driver refused a call", "驱动拒绝了调用"), "19": ("the network is down", "网络故障"),
    "21": ("the other side reported an error", "对端报告错误"),
}  # fmt: skip
_SETS_UP = (
    "It happened while the ranks set their group up: name the host's interface on every node (`export "
    "HCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0`, `HCCL_IF_IP` its address), try the NPUs' own network "
    "(`hccn_tool -i 0 -ping -g address IP`), and let nobody be late (`HCCL_CONNECT_TIMEOUT=1800`). "
)
_SETS_UP_ZH = (
    "失败发生在各 rank 建立通信域时:在每个节点指定主机网卡(`export HCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0`,"
    "`HCCL_IF_IP` 为其地址),检查 NPU 之间的网络(`hccn_tool -i 0 -ping -g address IP`),并放宽等待"
    "(`HCCL_CONNECT_TIMEOUT=1800`)。"
)


def explain(hits: Hits) -> Finding:
    """The code tells more than the number of the call."""
    if dtype := hits.get("dtype"):
        return found(
            PROBLEM, DTYPE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, dtype=f"`{dtype}`",
            operation=hits.get("operation"),
        )  # fmt: skip
    code = hits.get("code") or ""
    if port := hits.get("port"):
        return found(
            PROBLEM, PORT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            code=f"{hits.get('address')}:{port}",
        )  # fmt: skip
    meaning = RESULTS.get(hits.get("number") or "")
    sets_up = "CommInit" in (hits.get("call") or "")
    return found(
        PROBLEM,
        WORDS.get(code, OTHER),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        code=code or "HCCL",
        call=hits.get("call") or "HCCL",
        number=hits.get("number") or "-",
        meaning=f"Its code stands for: {meaning[0]}. " if meaning else "",
        meaning_zh=f"该错误码含义:{meaning[1]}。" if meaning else "",
        network=_SETS_UP if sets_up else "",
        network_zh=_SETS_UP_ZH if sets_up else "",
    )
