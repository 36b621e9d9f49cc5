"""Judges proxy-before-server (HST012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.communication import value_of
from doctor.catalogue.shared.trainers import vllm_mode
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.network import Endpoint, Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_LOG = TOML["log_log"]
MESSAGE = TOML["main"]


LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared, never bound


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
        proxy=proxy[1],
        severity=ERROR if far else WARNING,
        confidence=CONFIRMED if far else LIKELY,
        commands=(f"export no_proxy={','.join(filter(None, (exempt, server.host)))}",),
        evidence=(Observed.quoted("environment", f"{proxy[0]}={proxy[1]}, no_proxy={exempt}"),),
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
