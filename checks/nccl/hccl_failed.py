"""HCCL, the communication library of Ascend NPUs, reports an error.

## What it means
On Ascend the ranks talk through HCCL. It tells codes of its own: EI0006 a rank did not come to set up the link in
time, EI0002 a rank did not come to an operation in time, EI0013 the network lost packets, EJ0003 the port is taken.
The first two, and a failed transport, are the words of those that waited for another NPU.
## What it does to a run
Every rank ends, those that waited some minutes after the one that failed.
## What to do
Look for the rank that failed first or came late; free the port; check the links between the NPUs.
## How it is found
In a log: by the code of HCCL or by torch_npu's message with the number of the failed call.
## References
https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/850alpha002/hccl/hcclug/hcclug_000050.html
https://www.hiascend.com/document/detail/zh/canncommercial/80RC3/developmentguide/maintenref/troubleshooting/atlaserrorcode_15_0242.html
https://www.hiascend.com/document/detail/zh/canncommercial/850/commlib/hcclug/hcclug_000061.html
https://github.com/verl-project/verl/issues/5074
https://github.com/vllm-project/vllm-ascend/issues/1955
https://github.com/vllm-project/vllm-ascend/issues/405
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC029", name="hccl-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\b(?P<code>EI0002|EI0006|EI0009)(?:\)|: (?:\[PID|\d{4}-|[A-Z][a-z]))",
        symptom_of=("MEM", "HST", "DAT", "CKP", "HUB", "PYT", "TRF", "VRL", "RAY", "LCH018"),
    ),
    Signature(
        r"\b(?P<code>E[IJ]00\d\d)(?:\)|: (?:\[PID|\d{4}-|[A-Z][a-z]))",
        keywords=("EI00", "EJ00"),
    ),
    Signature(
        r"(?:HCCL|OPS) function error: (?P<call>[Hh]ccl\w{2,60})[^\n]{0,200}error code is (?P<number>"
        r"\d{1,6})",
        symptom_of=("MEM", "HST", "DAT", "CKP", "HUB", "PYT", "TRF", "VRL", "RAY", "LCH018"),
    ),
    Signature(
        r"^RuntimeError: (?:\[ERROR\] )?HCCL error(?: in)?:",
        symptom_of=("TOR038",),
    ),
    Signature(r"^RuntimeError: HCCL (?P<operation>\w[\w &]{1,40}): Unsupported data type (?P<dtype>[\w:/]{2,60})"),
    Signature(r"listen on ip\[(?P<address>[\w.:]{2,45})\] and (?:specific )?port\[(?P<port>\d{1,5})\] fail\."),
)

LINK = Message(
    en=Words(
        "an NPU did not come to set up the link in time ({code})",
        "This rank waited `HCCL_CONNECT_TIMEOUT` seconds (120 unless set) for another NPU. That rank "
        "failed before, still loads a model or compiles, or cannot be reached over the network of the "
        "NPUs. It is Ascend's HCCL that speaks: NCCL and CUDA have no part in it.",
        "Look through the logs of all ranks, and of CANN (`~/ascend/log`), for the one with another "
        "error or none, and mend that first; end processes left over from the run before. If every rank "
        "reports this and one just comes late: `export HCCL_CONNECT_TIMEOUT=1800`, the same on all "
        "nodes. Between nodes check the NPU's own addresses: `hccn_tool -i 0 -ping -g address IP`, and "
        "that TLS is on everywhere or nowhere (`hccn_tool -i 0 -tls -g`).",
    ),
    zh=Words(
        "有 NPU 没有在时限内建链({code})",
        "该 rank 等待另一个 NPU 达 `HCCL_CONNECT_TIMEOUT` 秒(默认 120)。对方 rank 先前已失败,仍在加载模型"
        "或编译,或无法经 NPU 网络到达。这是昇腾 HCCL 的报错,与 NCCL、CUDA 无关。",
        "查看所有 rank 与 CANN(`~/ascend/log`)的日志,找出有其他错误或没有报错的 rank,先修复它;结束上次运"
        "行残留的进程。若所有 rank 都报此错而只是有 rank 来得晚:在各节点同样设置 `export "
        "HCCL_CONNECT_TIMEOUT=1800`。跨节点时检查 NPU 自身的地址:`hccn_tool -i 0 -ping -g address IP`,并"
        "确认 TLS 开关处处一致(`hccn_tool -i 0 -tls -g`)。",
    ),
)

OPERATION = Message(
    en=Words(
        "an NPU did not come to a collective operation in time ({code})",
        "This rank waited `HCCL_EXEC_TIMEOUT` seconds (1,800 unless set) inside a collective. Another "
        "rank failed or hangs, works on something long that the others do not do (a checkpoint, a "
        "reward, a longer rollout), has fewer batches, or packets are lost between the NPUs.",
        "Look for the rank that reports another error or nothing at all; its last lines are where the "
        "cause stands. If it is only slow, `export HCCL_EXEC_TIMEOUT=7200` on all nodes. Give every rank "
        "the same number of batches. In CANN's logs (`grep -rn 'error cqe' ~/ascend/log`) an error CQE "
        "means the network.",
    ),
    zh=Words(
        "有 NPU 没有在时限内参加集合通信({code})",
        "该 rank 在集合通信中等待了 `HCCL_EXEC_TIMEOUT` 秒(默认 1,800)。另一个 rank 已失败或挂住,在做别的"
        " rank 不做的长时间工作(保存检查点、计算奖励、较长的 rollout),批次数较少,或 NPU 之间丢包。",
        "找出报其他错误或完全没有报错的 rank,原因在它的最后几行。若只是慢:在各节点 `export "
        "HCCL_EXEC_TIMEOUT=7200`。让每个 rank 的批次数相同。在 CANN 日志中(`grep -rn 'error cqe' "
        "~/ascend/log`)出现 error CQE 说明是网络问题。",
    ),
)

NETWORK = Message(
    en=Words(
        "the network between two NPUs lost packets until RoCE gave up ({code})",
        "The NPU's own network port repeated a packet as often as it may. A port or switch flaps, flow "
        "control is not set up, or the process on the other side has ended.",
        "See whether the other side's process ended first and why. Else check the ports: `hccn_tool -i 0 "
        "-link_stat -g` on both nodes, the switch's flow control (PFC), and `export "
        "HCCL_RDMA_TIMEOUT=20` with `HCCL_RDMA_RETRY_CNT=7` for short interruptions.",
    ),
    zh=Words(
        "两个 NPU 之间的网络丢包,RoCE 重传超次({code})",
        "NPU 自身的网口重传已达上限:端口或交换机闪断,没有配置流控,或对端进程已经退出。",
        "先看对端进程是否更早退出及其原因。否则检查端口:在两个节点上 `hccn_tool -i 0 -link_stat -g`,交换"
        "机流控(PFC);短暂中断可设置 `export HCCL_RDMA_TIMEOUT=20` 和 `HCCL_RDMA_RETRY_CNT=7`。",
    ),
)

PORT = Message(
    en=Words(
        "the port that HCCL listens on is taken ({code})",
        "HCCL opens ports from 60000 upwards on the host and 16666 on the NPU itself. Another job of this machine, a "
        "second engine of the same job, or a process left over from the run before has them.",
        "End what is left (`npu-smi info` shows the processes), or give each job ports of its own: "
        "`export HCCL_IF_BASE_PORT=50000` (a block of 32 free ports), and where vLLM runs beside the "
        "trainer also `HCCL_NPU_SOCKET_PORT_RANGE=auto` and `HCCL_HOST_SOCKET_PORT_RANGE=auto`.",
    ),
    zh=Words(
        "HCCL 要监听的端口已被占用({code})",
        "HCCL 在主机上从 60000 起、在 NPU 上以 16666 打开端口。本机的另一个作业、同一作业的第二个引擎,或上次运行残留的"
        "进程占用了它们。",
        "结束残留进程(`npu-smi info` 会列出进程),或给每个作业不同的端口:`export HCCL_IF_BASE_PORT=50000`("
        "需要一段 32 个空闲端口);vLLM 与训练同机时再设置 `HCCL_NPU_SOCKET_PORT_RANGE=auto` 和 "
        "`HCCL_HOST_SOCKET_PORT_RANGE=auto`。",
    ),
)

OTHER = Message(
    en=Words(
        "HCCL, the communication library of the Ascend NPUs, failed: `{call}`, code {number}",
        "{meaning}The number alone does not tell why: a rank that failed before, a port that is taken, versions "
        "of CANN, torch_npu and the NPU's firmware that do not belong together, or an NPU in error. NCCL "
        "and CUDA have no part in it.",
        "Read the lines with an EI or EJ code below the traceback and in CANN's logs "
        "(`~/ascend/log/debug/plog`); `export ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1` "
        "prints them. {network}Check `npu-smi info` for the health of each NPU and for processes left over, and "
        "that CANN and torch_npu are a pair that the release table of torch_npu lists.",
    ),
    zh=Words(
        "昇腾 NPU 的通信库 HCCL 失败:`{call}`,错误码 {number}",
        "{meaning_zh}仅凭该数字看不出原因:另一个 rank 先失败,端口被占用,CANN、torch_npu 与 NPU 固件版本不配套,或 NPU "
        "处于故障状态。与 NCCL、CUDA 无关。",
        "查看回溯下方以及 CANN 日志(`~/ascend/log/debug/plog`)中带 EI 或 EJ 码的行;`export "
        "ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1` 可直接打印。{network_zh}用 `npu-smi info` 检查各 "
        "NPU 的健康状况与残留进程,并确认 CANN 与 torch_npu 是 torch_npu 版本配套表中的一对。",
    ),
)


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


DTYPE = Message(
    en=Words(
        "HCCL cannot reduce tensors of type {dtype} ({operation})",
        "Ascend's collectives know fewer types than NCCL: flags as bool or byte tensors are refused. Code written for "
        "CUDA sends such flags, older releases of DeepSpeed for the overflow check among them.",
        "Upgrade DeepSpeed and torch_npu (their NPU branches use int32 for these flags); in code of your own send "
        "`flag.to(torch.int32)` and convert it back.",
    ),
    zh=Words(
        "HCCL 无法对 {dtype} 类型的张量做规约({operation})",
        "昇腾的集合通信支持的类型比 NCCL 少:bool 或 byte 标志张量会被拒绝。为 CUDA 编写的代码会发送这类标志,包括旧版 "
        "DeepSpeed 的溢出检查。",
        "升级 DeepSpeed 与 torch_npu(其 NPU 分支以 int32 发送这些标志);自己的代码请发送 `flag.to(torch.int32)` 再转换"
        "回来。",
    ),
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
