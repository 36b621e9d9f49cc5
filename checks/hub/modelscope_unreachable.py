"""ModelScope cannot be reached from this machine.

## What it means
Models and data sets are asked for at modelscope.cn, and this node has no way there: no internet on compute nodes, DNS,
a firewall.
## What it does to a run
The first file that is not in the cache ends the run, after retries.
## What to do
Download beforehand and give a local path, or give the node a way out.
## How it is found
In a log: by the client's exception with the host of ModelScope.
## References
https://modelscope.cn/docs/models/download
https://github.com/modelscope/modelscope
https://github.com/modelscope/ms-swift/issues/2539
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HUB017", name="modelscope-unreachable", severity=ERROR, since="0.1")

UNREACHABLE = Message(
    en=Words(
        "ModelScope could not be reached (modelscope.cn)",
        "No connection came about: no internet on this node, no DNS, a firewall, or an outage. The model itself "
        "is not at fault.",
        "Test with `curl -sI https://www.modelscope.cn | head -1`. Download on a machine with a network: "
        "`modelscope download --model REPO --local_dir DIR`, and give the local path, or share "
        "`MODELSCOPE_CACHE`; where a proxy is the way out set `https_proxy`. Frameworks with both hubs: swift "
        "`--use_hf true`, LLaMA-Factory without `USE_MODELSCOPE_HUB=1`, vLLM and verl without "
        "`VLLM_USE_MODELSCOPE=True`.",
    ),
    zh=Words(
        "无法访问 ModelScope(modelscope.cn)",
        "没有建立连接:本节点没有外网、没有 DNS、防火墙或服务故障。与模型本身无关。",
        "用 `curl -sI https://www.modelscope.cn | head -1` 测试。在有网络的机器上下载:`modelscope download --model"
        " REPO --local_dir DIR`,然后使用本地路径或共享 `MODELSCOPE_CACHE`;需要代理时设置 `https_proxy`。支持两个 "
        "Hub 的框架:swift 用 `--use_hf true`,LLaMA-Factory 去掉 `USE_MODELSCOPE_HUB=1`,vLLM 与 verl 去掉 "
        "`VLLM_USE_MODELSCOPE=True`。",
    ),
)
TROUBLE = Message(
    en=Words(
        "ModelScope was reached and answers with an error of its own (50x), again and again",
        "The server or a part of it is down or overloaded at that moment. Network, model and program here are not at "
        "fault.",
        "Wait some minutes and start again: what was downloaded is kept. Or take the files from elsewhere: swift "
        "`--use_hf true` (with `HF_ENDPOINT=https://hf-mirror.com` in China), or a local path.",
    ),
    zh=Words(
        "已连上 ModelScope,但它反复返回自身的错误(50x)",
        "当时其服务器或部分服务故障或过载。与本机的网络、模型和程序无关。",
        "等几分钟后重新启动,已下载的内容会保留。或从别处获取文件:swift 用 `--use_hf true`(国内可设 "
        "`HF_ENDPOINT=https://hf-mirror.com`),或使用本地路径。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"host='(?:[\w.\-]{0,40}\.)?modelscope\.(?:cn|ai)'[^\n]{0,600}"
            r"ResponseError\('too many 50\d error responses",
            keywords=("ResponseError('too many 50",),
        ),
        TROUBLE,
        CONFIRMED,
    ),
    (
        Signature(
            r"host='(?:[\w.\-]{0,40}\.)?modelscope\.(?:cn|ai)'[^\n]{0,600}(?:NameResolutionError|NewConnectio"
            r"nError|ConnectTimeoutError|Failed to establish|Network is unreachable|timed out)",
            symptom_of=("HST025",),
        ),
        UNREACHABLE,
        LIKELY,
    ),
    (
        Signature(
            r"MaxRetryError\([^\n]{0,40}host='(?:[\w.\-]{0,40}\.)?modelscope\.(?:cn|ai)'", symptom_of=("HST025",)
        ),
        UNREACHABLE,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
