"""Requests to the vLLM server go through an HTTP proxy.

## What it means
http_proxy is set, and no_proxy does not name the server's host. TRL talks to its server with `requests`, which obeys
both variables, also for localhost and 0.0.0.0.
## What it does to a run
The proxy answers in the server's place, most often with 502 or 503, so the trainer waits for a server that runs and
ends with `The vLLM server can't be reached`. A proxy on another machine cannot reach this one's localhost at all.
## What to do
Name the server's host in no_proxy.
## How it is found
The variables as the run will have them, by the rules of `requests`, against the host of the server.
In a log: by the message that the program or the driver prints.
## References
https://requests.readthedocs.io/en/latest/user/advanced/#proxies
https://github.com/huggingface/trl/blob/v0.19.0/trl/extras/vllm_client.py
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import value_of
from doctor.checks.trl._helpers import vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.redact import redact_text
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.network import Endpoint, Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="HST012", name="proxy-before-server", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(r"Error code: 502\b"),
    Signature(r"(?:https?://|base_url=|\()(?:0\.0\.0\.0|127\.0\.0\.1|localhost)\b", kind="sign"),
    Signature(r"url: http://(?:0\.0\.0\.0|127\.0\.0\.1|localhost)[^\n]{0,200}ProxyError\("),
)

LOG_MESSAGE_LOG = Message(
    en=Words(
        "requests to a server on this machine are answered with 502: most likely by an HTTP proxy",
        "http_proxy or https_proxy is set in the environment, and requests to 0.0.0.0, 127.0.0.1 or "
        "localhost go through the proxy, which cannot reach this machine's own ports. The server itself "
        "may well be up; the time-out is only the consequence.",
        "Unset them for the run (`unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY`) or name the "
        "local addresses: `export no_proxy=localhost,127.0.0.1,0.0.0.0` (NO_PROXY, too). Check with "
        "`curl --noproxy '*' http://127.0.0.1:8000/health`.",
    ),
    zh=Words(
        "发往本机服务器的请求得到 502:很可能来自 HTTP 代理",
        "环境中设置了 http_proxy 或 https_proxy,发往 0.0.0.0、127.0.0.1 或 localhost 的请求经过了代理,而"
        "代理无法访问本机端口。服务器本身可能已正常运行,超时只是后果。",
        "运行时取消代理(`unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY`),或声明本地地址:`export "
        "no_proxy=localhost,127.0.0.1,0.0.0.0`(NO_PROXY 同样)。用 `curl --noproxy '*' "
        "http://127.0.0.1:8000/health` 检查。",
    ),
)
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared, never bound

MESSAGE = Message(
    en=Words(
        "`{variable}` sends requests for the vLLM server at {host} to {proxy}",
        "The proxy answers in the server's place, most often with 502, and the trainer waits for a server that runs "
        "until it ends with `The vLLM server can't be reached`.",
        "Name the server's host in no_proxy.",
    ),
    zh=Words(
        "`{variable}` 把发往 vLLM 服务器 {host} 的请求转给了 {proxy}",
        "代理会代替服务器应答(通常是 502),训练端便一直等待一个其实已在运行的服务器,"
        "最后报 `The vLLM server can't be reached`。",
        "把服务器的主机名写进 no_proxy。",
    ),
)


def bypassed(host: str, port: int | None, no_proxy: str) -> bool:
    """Whether `requests` goes straight to a host (requests/utils.py, should_bypass_proxies)."""
    from ipaddress import AddressValueError, IPv4Address, IPv4Network

    entries = [each for each in no_proxy.replace(" ", "").split(",") if each]
    if "*" in entries:
        return True
    try:
        address = IPv4Address(host)
    except AddressValueError:
        named = f"{host}:{port}" if port else host
        return any(host.endswith(each) or named.endswith(each) for each in entries)
    for each in entries:
        try:
            if each == host or ("/" in each and address in IPv4Network(each, strict=False)):
                return True
        except ValueError:
            continue
    return False


def _proxy(environment: Environment, training: Training, *, tls: bool) -> tuple[str, str] | None:
    """(variable, value) of the proxy that `requests` would take; small letters come first."""
    for scheme in ("https" if tls else "http", "all"):
        for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"):
            value = value_of(environment, training, name)
            if value:
                return name, value
    return None


@check(PROBLEM)
def proxy_before_server(
    environment: Environment, network: Network, training: Training, packages: Packages
) -> Judgement:
    """Judge TRL's server mode. A proxy on this machine may reach the server, one elsewhere not its localhost."""
    server = network.endpoint("vllm_server")
    version = packages.version("trl")
    if server is None or version is None or vllm_mode(training, version) != "server":
        return
    url = training.value("vllm_server_base_url")
    proxy = _proxy(environment, training, tls=isinstance(url, str) and url.startswith("https:"))
    exempt = value_of(environment, training, "no_proxy") or value_of(environment, training, "NO_PROXY") or ""
    if proxy is None or bypassed(server.host, server.port, exempt) or not _is_near(server):
        return
    far = server.host in LOCAL and _host(proxy[1]) not in LOCAL
    yield found(
        PROBLEM,
        MESSAGE,
        variable=proxy[0],
        host=server.host,
        proxy=redact_text(proxy[1]),
        severity=ERROR if far else WARNING,
        confidence=CONFIRMED if far else LIKELY,
        commands=(f"export no_proxy={','.join(filter(None, (exempt, server.host)))}",),
        evidence=(Evidence("environment", f"{proxy[0]}={redact_text(proxy[1])}, no_proxy={exempt}"),),
    )


def _host(proxy: str) -> str | None:
    from urllib.parse import urlsplit

    try:
        return urlsplit(proxy if "//" in proxy else f"//{proxy}").hostname
    except ValueError:
        return None


def _is_near(server: Endpoint) -> bool:
    """Whether the server's address is one that no proxy should be asked for: this machine's or a private one."""
    from ipaddress import ip_address

    if server.host in LOCAL:
        return True
    try:
        return any(ip_address(each.partition("%")[0]).is_private for each in (server.addresses or (server.host,)))
    except ValueError:
        return False


def explain(hits: Hits) -> Finding | None:
    """A 502 alone says nothing: the address must be of this machine."""
    if not hits.of(2) and not (hits.of(0) and hits.of(1)):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE_LOG,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        severity=ERROR,
        commands=("export no_proxy=localhost,127.0.0.1,0.0.0.0",),
    )
