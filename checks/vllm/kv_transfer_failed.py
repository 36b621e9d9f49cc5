"""Prefill and decode run apart, and the KV cache does not come over.

## What it means
With prefill and decode on engines of their own (SGLang `--disaggregation-mode`, vLLM `--kv-transfer-config`) every
request's KV cache travels from one to the other, by Mooncake or NIXL over RDMA, NVLink or TCP.
## What it does to a run
Requests fail one by one, hang, or are computed twice; the engines stay up.
## What to do
See that the other side lives and can be reached at the address it was told, then that both use the same transport.
## How it is found
In a log: by the messages of SGLang, vLLM, NIXL and its libfabric backend.
## References
https://github.com/sgl-project/sglang/issues/6854
https://github.com/sgl-project/sglang/issues/6674
https://github.com/sgl-project/sglang/issues/5709
https://github.com/vllm-project/vllm/issues/27083
https://docs.vllm.ai/en/latest/features/nixl_connector_usage.html
https://docs.sglang.io/advanced_features/pd_disaggregation.html
https://github.com/ai-dynamo/nixl/issues/1983
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL109", name="kv-transfer-failed", severity=ERROR, since="0.1")

SIDE_CHANNEL = Message(
    en=Words(
        "the NIXL side channel of vLLM answers for another engine than the one that was asked",
        "`VLLM_NIXL_SIDE_CHANNEL_HOST` is localhost unless it is set, so on several machines each engine asks itself; "
        "on one machine two engines share a port. The decoder then computes the prompts once more.",
        "Give every engine its own: `VLLM_NIXL_SIDE_CHANNEL_HOST=` the address by which the other machines reach it, "
        "and `VLLM_NIXL_SIDE_CHANNEL_PORT` different for each engine on a machine (data-parallel ranks take the ports "
        "that follow).",
    ),
    zh=Words(
        "vLLM 的 NIXL side channel 由另一个引擎应答",
        "`VLLM_NIXL_SIDE_CHANNEL_HOST` 默认为 localhost,多机时各引擎会连到自己;同一机器上则是两个引擎共用一个端口。"
        "decode 端于是重新计算 prompt。",
        "为每个引擎单独设置:`VLLM_NIXL_SIDE_CHANNEL_HOST=` 其他机器可访问的本机地址,同一机器上各引擎的 "
        "`VLLM_NIXL_SIDE_CHANNEL_PORT` 互不相同(数据并行 rank 依次占用后续端口)。",
    ),
)
NOT_INSTALLED = Message(
    en=Words(
        "the engine is to send its KV cache by NIXL, which cannot be imported",
        "The package is missing, or its build is for another CUDA than torch's.",
        "`pip install nixl` (for CUDA 13 `nixl-cu13`) on every node; `python -c 'from nixl._api import nixl_agent'` "
        "tells what it lacks.",
    ),
    zh=Words(
        "引擎要用 NIXL 传输 KV 缓存,但无法导入 NIXL",
        "未安装该包,或其构建的 CUDA 与 torch 不同。",
        "在每个节点上 `pip install nixl`(CUDA 13 用 `nixl-cu13`);`python -c 'from nixl._api import nixl_agent'` "
        "会给出缺少的内容。",
    ),
)
FABRIC = Message(
    en=Words(
        "NIXL's libfabric backend could not read the other side's memory over EFA",
        "The remote key or address is not one that the other side has registered: the two use different numbers of "
        "network cards or tensor-parallel sizes, or the libfabric inside the wheel is not the one of the EFA "
        "installer.",
        'Take UCX instead: `"kv_connector_extra_config": {{"backends": ["UCX"]}}`. To stay with EFA let nixl use the '
        "installer's libfabric (`/opt/amazon/efa/lib` first in LD_LIBRARY_PATH, nixl built against it), give both "
        "sides the same cards, and compare answers with a run without transfer: wrong blocks do not always raise.",
    ),
    zh=Words(
        "NIXL 的 libfabric 后端无法通过 EFA 读取对端内存",
        "远端 key 或地址不是对端注册过的:两端网卡数或张量并行大小不同,或 wheel 自带的 libfabric 不是 EFA 安装包的版本"
        "。",
        '改用 UCX:`"kv_connector_extra_config": {{"backends": ["UCX"]}}`。若继续用 EFA,让 nixl 使用安装包的 '
        "libfabric(LD_LIBRARY_PATH 中 `/opt/amazon/efa/lib` 居前,并据此编译 nixl),两端使用相同的网卡,并与不传输的运行对"
        "比输出:错误的块不一定会报错。",
    ),
)
NO_BOOTSTRAP = Message(
    en=Words(
        "the decode server could not ask the prefill server about itself{place}",
        "Nobody answers at the bootstrap address: the prefill server is not up yet or gone, the address is one of "
        "another network, or a firewall or proxy stands between.",
        "`curl http://ADDRESS/` from the decode node; start prefill first with `--host` and "
        "`--disaggregation-bootstrap-port` that the router names too, and take these hosts into `no_proxy`.",
    ),
    zh=Words(
        "decode 服务器无法从 prefill 服务器取得信息{place}",
        "bootstrap 地址无人应答:prefill 服务器尚未启动或已退出、地址属于另一网络,或中间有防火墙或代理。",
        "在 decode 节点上执行 `curl http://ADDRESS/`;先启动 prefill,`--host` 与 `--disaggregation-bootstrap-port` "
        "要与路由器所写一致,并把这些主机加入 `no_proxy`。",
    ),
)
TIMED_OUT = Message(
    en=Words(
        "a request waited {seconds} s for its KV cache to come over and was given up",
        "The other side was busy longer than that, or never began: a queue that is too long, a request that the router "
        "sent to one side only, or a link that is slow.",
        "See whether the other side works on it (its log at that time). If it is only load, send fewer requests at "
        "once, add engines, or wait longer: `SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=600` for the prefill side and "
        "`SGLANG_DISAGGREGATION_WAITING_TIMEOUT=600` for the decode side. Requests go through the router alone.",
    ),
    zh=Words(
        "某请求等待 KV 缓存 {seconds} 秒后被放弃",
        "对端忙碌超过该时间,或从未开始:队列过长、路由器只把请求发给了一端,或链路很慢。",
        "查看对端同一时刻的日志。若只是负载,减少并发、增加引擎,或延长等待:prefill 端 "
        "`SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=600`,decode 端 `SGLANG_DISAGGREGATION_WAITING_TIMEOUT=600`。请求只应"
        "经由路由器。",
    ),
)
PEER_GONE = Message(
    en=Words(
        "the KV cache could not come over: the {side} server is gone or cannot be reached",
        "Its heartbeat stopped. It ended with an error of its own, or the network between the two did.",
        "Read the log of the {side} server first: its last error is the cause, and it has to be started anew. If it "
        "lives, test the link that the transfer uses (`ibstat`, `ib_write_bw`, `--disaggregation-ib-device`).",
    ),
    zh=Words(
        "KV 缓存无法传输:{side} 服务器已退出或无法访问",
        "它的心跳停止了:自身出错退出,或两者之间的网络中断。",
        "先看 {side} 服务器的日志:它最后的错误才是原因,且需要重新启动。若它仍在运行,检查传输所用链路(`ibstat`、"
        "`ib_write_bw`、`--disaggregation-ib-device`)。",
    ),
)
NOT_SENT = Message(
    en=Words(
        "the KV cache of a request could not be sent to the other engine",
        "The transport refused: no RDMA device for this GPU, another UCX or Mooncake in the process than the one the "
        "wheel brings, no memory that may be pinned, or a peer that was started anew and has other addresses now.",
        "On both sides: `ulimit -l unlimited` (docker `--ulimit memlock=-1`, `--device=/dev/infiniband`), the cards "
        "named (`--disaggregation-ib-device mlx5_0`, `UCX_NET_DEVICES`), UCX with CUDA (`ucx_info -d | grep cuda`, "
        "`UCX_TLS=rc,cuda_copy,cuda_ipc,tcp`), the same nixl or Mooncake release. A system UCX beside the wheel's "
        "goes out of LD_LIBRARY_PATH. After one side was restarted restart the other too.",
    ),
    zh=Words(
        "某请求的 KV 缓存无法发送给另一个引擎",
        "传输层拒绝:该 GPU 没有可用的 RDMA 设备、进程中的 UCX 或 Mooncake 不是 wheel 自带的、不能锁定内存,或对端重启后"
        "地址已变。",
        "两端都检查:`ulimit -l unlimited`(docker `--ulimit memlock=-1`、`--device=/dev/infiniband`)、指定网卡"
        "(`--disaggregation-ib-device mlx5_0`、`UCX_NET_DEVICES`)、UCX 支持 CUDA(`ucx_info -d | grep cuda`、"
        "`UCX_TLS=rc,cuda_copy,cuda_ipc,tcp`)、nixl 或 Mooncake 版本一致。把系统 UCX 移出 LD_LIBRARY_PATH。一端重启后另"
        "一端也要重启。",
    ),
)

_DEEPER = ("MEM", "GPU", "HST", "NCC", "TOR", "CUD", "LCH")
_SGLANG = r"KVTransferError\(bootstrap_room=\w{1,24}\): "

#: pattern and what is said of it, the most telling first: of several in a log that one speaks
CASES = (
    (r"Remote NIXL agent engine ID mismatch\. Expected", SIDE_CHANNEL),
    (r"(?:RuntimeError: |error ')NIXL is not available", NOT_INSTALLED),
    (r"CQ read failed on rail \d{1,3} with error|EFA internal error: \(\d{4}\) RMA address", FABRIC),
    (
        _SGLANG
        + r"Could not fetch prefill (?:parallel )?info from (?:bootstrap_addr:? ?)?(?P<address>[\w.:\[\]-]{3,80})",
        NO_BOOTSTRAP,
    ),
    (_SGLANG + r"Request \w{1,24} timed out after (?P<seconds>[\d.]{1,8})s in KVPoll", TIMED_OUT),
    (_SGLANG + r"(?:Failed to get kvcache|Lost connection with) (?:from )?(?P<side>prefill) instance", PEER_GONE),
    (_SGLANG + r"(?P<side>Decode) instance could be dead", PEER_GONE),
    (_SGLANG + r"Failed to send kv chunk|nixl\w{2,20}Error: NIXL_ERR_[A-Z_]{2,30}", NOT_SENT),
    (_SGLANG + r"Failed due to an unk", NOT_SENT),
)

SIGNATURES = tuple(Signature(pattern, symptom_of=_DEEPER) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """The most telling of the hits speaks: other ranks only repeat that something failed."""
    telling = min(hits, key=lambda hit: hit.signature)
    address = telling.groups.get("address") or ""
    return found(
        PROBLEM,
        CASES[telling.signature][1],
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        place=f" ({address})" if address else "",
        seconds=telling.groups.get("seconds") or "",
        side=(telling.groups.get("side") or "").lower(),
    )
