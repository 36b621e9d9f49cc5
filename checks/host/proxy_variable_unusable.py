"""A variable that names a proxy has a value that the client cannot use.

## What it means
`http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` (also in capitals) are read by every client of the network: by
httpx (openai, huggingface_hub 1 and later, gradio, litellm), requests and urllib3 (modelscope, wandb, older hubs).
Each takes its own schemes, and SOCKS needs a package more.
## What it does to a run
The first client that is made ends the program, before anything is sent, even where the server is on this machine.
## What to do
Write the value with a scheme that all clients take, install the SOCKS support, or unset the variable.
## How it is found
In a log: by the message of httpx, requests or urllib3.
## References
https://github.com/encode/httpx/blob/0.28.1/httpx/_config.py
https://github.com/psf/requests/blob/v2.32.3/src/requests/adapters.py
https://github.com/urllib3/urllib3/blob/2.3.0/src/urllib3/contrib/socks.py
https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/16474
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HST024", name="proxy-variable-unusable", severity=ERROR, since="0.1")

SCHEME = Message(
    en=Words(
        "the proxy in the environment is written with a scheme that the client does not know (`{scheme}`)",
        "httpx takes `http://`, `https://`, `socks5://` and `socks5h://`, urllib3 `http`, `https`, `socks4`, "
        "`socks4a`, `socks5` and `socks5h`. Desktop tools for proxies set `ALL_PROXY=socks://...`, which is none "
        "of them. The network was not asked yet.",
        "Unset it for the run, in both spellings: `unset all_proxy ALL_PROXY`; or write `export "
        "ALL_PROXY=socks5://HOST:PORT` (with `pip install 'httpx[socks]' 'requests[socks]'`), or keep "
        "`http_proxy` and `https_proxy` with `http://HOST:PORT` alone. `env | grep -i proxy` shows all of them.",
    ),
    zh=Words(
        "环境变量中的代理使用了客户端不认识的协议(`{scheme}`)",
        "httpx 接受 `http://`、`https://`、`socks5://` 与 `socks5h://`,urllib3 接受 `http`、`https`、`socks4`、"
        "`socks4a`、`socks5` 与 `socks5h`。桌面代理工具会设置 `ALL_PROXY=socks://...`,两者都不认。此时尚未访问网络。",
        "本次运行取消它(大小写都要):`unset all_proxy ALL_PROXY`;或写成 `export ALL_PROXY=socks5://主机:端口`(并 "
        "`pip install 'httpx[socks]' 'requests[socks]'`),或只保留值为 `http://主机:端口` 的 `http_proxy` 与 "
        "`https_proxy`。`env | grep -i proxy` 可列出全部。",
    ),
)
SOCKS = Message(
    en=Words(
        "the proxy in the environment is a SOCKS proxy, and this Python has no package for SOCKS",
        "`ALL_PROXY` or `https_proxy` begins with `socks`. requests needs PySocks for that, httpx needs socksio. "
        "Without it no request is sent, not even one that needs no proxy.",
        "`python -m pip install 'requests[socks]' 'httpx[socks]'` (with the proxy off: `env -u ALL_PROXY -u "
        "all_proxy python -m pip ...`), or unset the variable: `unset ALL_PROXY all_proxy`, and give the proxy as "
        "`https_proxy=http://HOST:PORT`.",
    ),
    zh=Words(
        "环境变量中的代理是 SOCKS 代理,而当前 Python 没有 SOCKS 支持包",
        "`ALL_PROXY` 或 `https_proxy` 以 `socks` 开头。requests 需要 PySocks,httpx 需要 socksio;缺少时连不需要代理"
        "的请求也发不出去。",
        "`python -m pip install 'requests[socks]' 'httpx[socks]'`(先去掉代理:`env -u ALL_PROXY -u all_proxy python"
        " -m pip ...`),或取消变量:`unset ALL_PROXY all_proxy`,改用 `https_proxy=http://主机:端口`。",
    ),
)
FORM = Message(
    en=Words(
        "the proxy in the environment is not written as an address that can be used",
        "The value of `http_proxy`, `https_proxy` or `all_proxy` lacks its scheme or its host: `127.0.0.1:7890` "
        "and `http:/HOST` are none. It is often taken over from a file or an image.",
        "Look at all of them (`env | grep -i proxy`), and write `export https_proxy=http://HOST:PORT "
        "http_proxy=http://HOST:PORT`, or unset them where none is needed: `unset http_proxy https_proxy "
        "all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY`.",
    ),
    zh=Words(
        "环境变量中的代理不是可用的地址",
        "`http_proxy`、`https_proxy` 或 `all_proxy` 的值缺少协议或主机:`127.0.0.1:7890`、`http:/HOST` 都不行。它常"
        "来自某个配置文件或镜像。",
        "查看全部(`env | grep -i proxy`),写成 `export https_proxy=http://主机:端口 http_proxy=http://主机:端口`;不"
        "需要代理时取消:`unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY`。",
    ),
)
NO_PROXY = Message(
    en=Words(
        "httpx cannot read an address in the environment: its port is `{port}`",
        "httpx takes every entry of `no_proxy` (and the proxies themselves) for an address. An IPv6 one such as "
        "`::1` or `[::1]`, or a network in CIDR form behind a colon, breaks that in several releases, and no "
        "client can be made.",
        "Take the IPv6 entries out: `export no_proxy=localhost,127.0.0.1 NO_PROXY=localhost,127.0.0.1`, and look "
        "at the other variables with `env | grep -i proxy`; a newer httpx (`pip install -U httpx`) reads some of "
        "them.",
    ),
    zh=Words(
        "httpx 无法读取环境变量中的地址:端口为 `{port}`",
        "httpx 会把 `no_proxy` 的每一项(以及代理本身)当作地址解析。`::1`、`[::1]` 这样的 IPv6 项,或冒号之后的 CIDR 网"
        "段,会让若干版本出错,从而无法创建客户端。",
        "去掉 IPv6 项:`export no_proxy=localhost,127.0.0.1 NO_PROXY=localhost,127.0.0.1`,并用 `env | grep -i "
        "proxy` 检查其余变量;较新的 httpx(`pip install -U httpx`)能读取其中一些。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"Unknown scheme for proxy URL (?:URL\()?'(?P<scheme>\w{1,20}):"),
        SCHEME,
        CONFIRMED,
    ),
    (
        Signature(r"Unable to determine SOCKS version from (?P<scheme>\w{1,20})://"),
        SCHEME,
        CONFIRMED,
    ),
    (
        Signature(
            r"(?:Proxy protocol must be either 'http', 'https', 'socks5', or 'socks5h',? but got|Not supporte"
            r"d proxy scheme) '?(?P<scheme>\w{1,20})"
        ),
        SCHEME,
        CONFIRMED,
    ),
    (
        Signature(
            r"InvalidSchema: Missing dependencies for SOCKS support|Using SOCKS proxy, but the 'socksio' pack"
            r"age is not installed"
        ),
        SOCKS,
        CONFIRMED,
    ),
    (
        Signature(r"InvalidProxyURL: Please check proxy URL|Proxy URL had no scheme, should start with http"),
        FORM,
        CONFIRMED,
    ),
    (
        Signature(r"InvalidURL: Invalid port: '(?P<port>[0-9a-f:]{0,40}\]?)'$"),
        NO_PROXY,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
