"""SGLang's own first request was not answered by SGLang.

## What it means
After its start the server sends itself a request at its own address. When a proxy is set in the environment, the
request goes to the proxy, which answers for an address that it cannot reach.
## What it does to a run
The server ends itself two minutes after it was up.
## What to do
Keep the proxy away from local addresses.
## How it is found
In a log, by the assertion of SGLang's warm-up and the status in it.
## References
https://github.com/sgl-project/sglang/issues/4094
https://github.com/sgl-project/sglang/issues/3623
https://github.com/sgl-project/sglang/issues/2468
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL106", name="sglang-warmup-refused", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AssertionError: res=<Response \[(?P<status>\d{3})\]>, res\.text="),)

#: what a proxy answers for an address that it does not serve
_OF_PROXY = frozenset({"403", "407", "502", "503", "504"})

PROXY = Message(
    en=Words(
        "SGLang's warm-up request to itself was answered {status}, as a proxy answers",
        "The server was up; it then asks its own address, and an HTTP proxy in the environment (`http_proxy`, "
        "`HTTP_PROXY`, `ALL_PROXY`) took the request and could not or would not reach a local address. The server ends "
        "itself for that.",
        "Take the proxy away from local addresses before the start: `unset http_proxy https_proxy HTTP_PROXY "
        "HTTPS_PROXY all_proxy ALL_PROXY`, or `export no_proxy=localhost,127.0.0.1,0.0.0.0,$(hostname -i)` (and "
        "NO_PROXY). If no proxy is set, the route of the server was changed: read the text of the answer; "
        "`--skip-server-warmup` starts without.",
    ),
    zh=Words(
        "SGLang 对自身的预热请求得到 {status},像是代理的回答",
        "服务器已启动,随后会请求自己的地址,而环境中的 HTTP 代理(`http_proxy`、`HTTP_PROXY`、`ALL_PROXY`)截走了请求"
        ",且无法或拒绝访问本地地址。服务器因此自行退出。",
        "启动前让代理不作用于本地地址:`unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY`,或 "
        "`export no_proxy=localhost,127.0.0.1,0.0.0.0,$(hostname -i)`(以及 NO_PROXY)。若未设代理,则请查看回答内容"
        ";`--skip-server-warmup` 可跳过预热启动。",
    ),
)

OTHER = Message(
    en=Words(
        "SGLang's warm-up request to itself was answered {status}",
        "The server was up, and its first generation failed or another program answers at this address. The reason "
        "stands in the text of the answer or in the scheduler's error before.",
        "Look for the first error of the scheduler; check that nothing else listens on the port (`ss -ltnp`); "
        "`--skip-server-warmup` starts without this request.",
    ),
    zh=Words(
        "SGLang 对自身的预热请求得到 {status}",
        "服务器已启动,但首次生成失败,或该地址由其他程序应答。原因在回答内容或此前 scheduler 的错误中。",
        "查找 scheduler 的第一个错误;确认端口没有其他程序监听(`ss -ltnp`);`--skip-server-warmup` 可跳过该请求启动。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Statuses of a proxy, or of the server."""
    status = hits.get("status") or ""
    return found(
        PROBLEM,
        PROXY if status in _OF_PROXY else OTHER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        status=status,
    )
