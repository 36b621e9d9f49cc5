"""The proxy that the environment names does not let requests through.

## What it means
Requests to the Hub, to wandb or to an API go through `https_proxy` where it is set. The proxy does not run, wants a
name and password, or does not allow the address.
## What it does to a run
Every request fails in the same way, often after minutes of retries, although the address itself may be in order.
## What to do
Start or correct the proxy, log in to it, or go around it.
## How it is found
In a log: by the answer of the proxy, or by the client's own code for proxies where the connection failed.
## References
https://requests.readthedocs.io/en/latest/user/advanced/#proxies
https://www.python-httpx.org/advanced/proxies/
https://www.rfc-editor.org/rfc/rfc9110#name-407-proxy-authentication-re
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HST025", name="proxy-refuses", severity=ERROR, since="0.1")

LOGIN = Message(
    en=Words(
        "the proxy wants a name and a password, and got none that it takes (407)",
        "The request reached the proxy, which refused to hand it on. What lies behind it was never asked.",
        "Give them in the variable, special characters percent-encoded: `export "
        "https_proxy=http://USER:PASSWORD@HOST:PORT http_proxy=$https_proxy`; or go around it for hosts that need "
        "none: `no_proxy`. Test with `curl -sI https://huggingface.co | head -1`.",
    ),
    zh=Words(
        "代理要求用户名和密码,而没有得到它接受的凭据(407)",
        "请求到达了代理,但代理拒绝转发;目标服务器从未被访问。",
        "在变量中写明,特殊字符需百分号编码:`export https_proxy=http://用户:密码@主机:端口 "
        "http_proxy=$https_proxy`;或对不需要代理的主机用 `no_proxy` 绕过。用 `curl -sI https://huggingface.co | "
        "head -1` 测试。",
    ),
)
FORBIDDEN = Message(
    en=Words(
        "the proxy does not allow this address (403)",
        "The request reached the proxy, which refused to hand it on: the site is not on its list, or this node "
        "may not use it. It is not an answer of the Hub or the API, and a token does not help.",
        "Have the address allowed, or use a mirror that is (`export HF_ENDPOINT=https://hf-mirror.com`), or "
        "download on a machine that may, and run with `HF_HUB_OFFLINE=1` and a local path. For hosts of your own: "
        "`export no_proxy=HOST`.",
    ),
    zh=Words(
        "代理不允许访问该地址(403)",
        "请求到达了代理,但代理拒绝转发:站点不在其允许名单中,或本节点无权使用。这不是 Hub 或 API 的回答,换 token 无用。",
        "让管理员放行该地址,或用允许的镜像(`export HF_ENDPOINT=https://hf-mirror.com`),或在可访问的机器上下载后用 "
        "`HF_HUB_OFFLINE=1` 和本地路径运行。自己的主机用 `export no_proxy=主机` 绕过。",
    ),
)
DOWN = Message(
    en=Words(
        "the proxy that the environment names cannot be reached",
        "`https_proxy`, `http_proxy` or `all_proxy` is set, and nothing answers at that address: the proxy "
        "program does not run, it listens on another port or, inside a container or on another node, `127.0.0.1` "
        "is not the machine that it runs on.",
        "`env | grep -i proxy` shows the address; start the proxy there, or unset the variables: `unset "
        "http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY`. In a container name the host's "
        "address instead of 127.0.0.1. For a server on this machine: `export "
        "no_proxy=localhost,127.0.0.1,0.0.0.0`.",
    ),
    zh=Words(
        "无法连接环境变量中指定的代理",
        "设置了 `https_proxy`、`http_proxy` 或 `all_proxy`,而该地址没有应答:代理程序没有运行,监听其他端口,或在容器"
        "内、其他节点上 `127.0.0.1` 并不是代理所在的机器。",
        "`env | grep -i proxy` 查看地址;在该处启动代理,或取消变量:`unset http_proxy https_proxy all_proxy "
        "HTTP_PROXY HTTPS_PROXY ALL_PROXY`。容器内应写宿主机地址而不是 127.0.0.1。访问本机服务:`export "
        "no_proxy=localhost,127.0.0.1,0.0.0.0`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"\b407 Proxy Authentication Required", symptom_of=("HST024",)),
        LOGIN,
        CONFIRMED,
    ),
    (
        Signature(r"(?:Tunnel connection failed: |ProxyError: )403 "),
        FORBIDDEN,
        CONFIRMED,
    ),
    (
        Signature(
            r"ProxyError\('(?:Cannot|Unable to) connect to proxy\.?', (?!OSError\('Tunnel connection failed: "
            r"40[37])",
            symptom_of=("HST012",),
        ),
        DOWN,
        LIKELY,
    ),
    (
        Signature(
            r"ConnectError: (?:\[Errno 1(?:11|13|01)\]|All connection attempts failed)", frame="http_proxy\\.py:"
        ),
        DOWN,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
