"""The router in front of the rollout engines has none that it could send a request to.

## What it means
slime, miles and others start SGLang engines behind a router. It counts an engine as unhealthy when requests or health
checks to it fail, and answers 503 when none is left.
## What it does to a run
Rollouts fail or are tried again for ever; the trainer is not at fault.
## What to do
Find out why the engines do not answer it: they ended, stand still, or cannot be reached.
## How it is found
In a log: by the client's error or the router's words.
## References
https://github.com/THUDM/slime/issues/1391
https://github.com/THUDM/slime/issues/1026
https://docs.sglang.ai/advanced_features/router.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL083", name="router-without-engines", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Server error '503 Service Unavailable' for url 'https?://[^'\s]{1,120}/(?:generate|v1/(?:chat/)?completions)'",
        symptom_of=("MEM", "VLL", "TOR", "HST", "NCC", "RAY", "GPU"),
    ),
    Signature(
        r"No available (?:\w{1,10} )?workers \(all circuits open or unhealthy\)",
        symptom_of=("MEM", "VLL", "TOR", "HST", "NCC", "RAY", "GPU"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the router answers 503: it has no rollout engine that it counts as healthy",
        "The engines behind it ended (out of memory, a failed weight update), are busy for longer than its health "
        "check waits, or it cannot reach them: a proxy in the environment, an address that engines told wrongly "
        "(an IPv6 or a container's own address), more requests at once than the engines take.",
        "Look for the first error in the engines' logs (`SGLangEngine`) and on the Ray dashboard whether they "
        "live. `unset http_proxy https_proxy` (or add all nodes to `no_proxy`) on every node; slime: `export "
        "SLIME_HOST_IP=` with the node's address. `curl http://ENGINE:PORT/health` from the router's node tells "
        "whether it is reachable. If the engines are merely busy: fewer requests at once "
        "(`--sglang-server-concurrency`), a smaller rollout batch, a longer health check.",
    ),
    zh=Words(
        "路由器返回 503:没有它认为健康的 rollout 引擎",
        "其后的引擎已退出(显存不足、权重更新失败),忙碌时间超过健康检查的等待,或路由器无法到达它们:环境中的代理,引擎"
        "上报了错误的地址(IPv6 或容器内部地址),同时的请求超过引擎的承受能力。",
        "在引擎日志(`SGLangEngine`)中查找最早的错误,并在 Ray dashboard 查看它们是否存活。在每个节点 `unset "
        "http_proxy https_proxy`(或把所有节点加入 `no_proxy`);slime:`export SLIME_HOST_IP=` 该节点地址。在路由器所"
        "在节点执行 `curl http://ENGINE:PORT/health` 判断能否到达。若引擎只是忙:减少并发"
        "(`--sglang-server-concurrency`),减小 rollout 批次,延长健康检查。",
    ),
)
