"""The addresses that a run will talk to, and who answers there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.facts.launch import Launch
from doctor.facts.network import Endpoint
from doctor.facts.training import Training
from doctor.facts.world import World
from doctor.readers.machine import sockets

# Defaults of GRPOConfig in every TRL since 0.16.0 (trl/trainer/grpo_config.py).
_VLLM_HOST, _VLLM_PORT = "0.0.0.0", 8000  # noqa: S104 - an address to call
_RENDEZVOUS = ("rdzv_endpoint", "main_process_ip", "master_addr")
_RENDEZVOUS_PORT = 29500  # torchrun's and accelerate's default
_TOTAL_S = 2.4
#: a proxy, or no network at all
_NO_WAY_OUT = (
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
)  # fmt: skip
_OK = 200
#: what a server says of a route that it does not have: not found, a redirect to it without its slash, no such method
_NO_SUCH_ROUTE = frozenset({301, 302, 307, 308, 404, 405})


@record
class Target:
    """An address to look at."""

    purpose: str
    host: str
    port: int | None
    tls: bool = False
    prefix: str = ""


def targets(
    variables: Mapping[str, str], launch: Launch | None, training: Training | None, world: World | None
) -> tuple[Target, ...]:
    """List what the run names: the vLLM server of a TRL trainer, the master of its rendezvous, a mirror of the hub."""
    found = (_vllm_server(training), _master(variables, launch, world), _mirror(variables, training))
    return tuple(target for target in found if target is not None)


def _vllm_server(training: Training | None) -> Target | None:
    """The server that TRL's trainer will call; none in colocate mode.

    Without `vllm_mode` the default is the release's own (server from 0.16.0, colocate from 1.0.0), so that the address
    is looked at: by default it is this machine's, and a check that knows the release decides what the answer means.
    """
    if training is None or training.value("use_vllm") is not True or training.value("vllm_mode") == "colocate":
        return None
    url = training.value("vllm_server_base_url")
    if isinstance(url, str) and url:
        try:
            parts = urlsplit(url if "//" in url else f"//{url}")
            port = parts.port
        except ValueError:
            return None
        tls = parts.scheme == "https"
        if not parts.hostname:
            return None
        return Target("vllm_server", parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"))
    host = training.value("vllm_server_host") or _VLLM_HOST
    port_value = training.value("vllm_server_port") or _VLLM_PORT
    if not isinstance(host, str) or not isinstance(port_value, int):
        return None
    return Target("vllm_server", host, port_value)


def _mirror(variables: Mapping[str, str], training: Training | None) -> Target | None:
    """The mirror that HF_ENDPOINT names; none where a proxy stands between, or the run goes without a network.

    The hub itself is nobody's choice, and is not asked.
    """
    url = variables.get("HF_ENDPOINT", "")
    if training is None or "://" not in url or any(variables.get(name) for name in _NO_WAY_OUT):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    tls = parts.scheme == "https"
    return Target("hub", parts.hostname, port or (443 if tls else 80), tls, "") if parts.hostname else None


def _master(variables: Mapping[str, str], launch: Launch | None, world: World | None) -> Target | None:
    """The rendezvous host: what the launcher is told before what the environment says."""
    named = [(world.master_addr, world.master_port)] if world and world.master_addr else []
    for name in _RENDEZVOUS if launch else ():
        setting = launch.option(name) if launch else None
        if setting is not None and isinstance(setting.value, str) and setting.value:
            host, _, port = setting.value.rpartition(":") if setting.value.count(":") == 1 else (setting.value, "", "")
            named.append((host, _port(port)))
    if variables.get("MASTER_ADDR"):
        port = variables.get("MASTER_PORT", "")
        named.append((variables["MASTER_ADDR"], _port(port)))
    return Target("master", named[0][0].strip("[]"), named[0][1]) if named and named[0][0] else None


def _port(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= len("65535") else None


def look(target: Target, *, knock: bool = False) -> Endpoint:
    """Resolve the name; of a server also ask whether it answers, and as what. Takes a few seconds at most.

    With `knock` a connection to the master is tried, although nothing listens there before the launch: a refusal shows
    that its host can be reached.
    """
    deadline = time.monotonic() + _TOTAL_S
    addresses = sockets.resolve(target.host)
    if target.purpose == "master" and knock and addresses:
        outcome = sockets.knock(target.host, target.port or _RENDEZVOUS_PORT)
        return Endpoint(target.purpose, target.host, target.port, True, addresses, connection=outcome)
    if target.purpose == "hub" and addresses:
        return _asked_mirror(target, addresses)
    if target.purpose != "vllm_server" or not addresses:
        return Endpoint(target.purpose, target.host, target.port, bool(addresses), addresses)
    assert target.port is not None  # noqa: S101 - a server always has one
    answers = sockets.connects(target.host, target.port)
    said = _who(target, deadline) if answers else _Said()
    return Endpoint(
        target.purpose, target.host, target.port, True, addresses, answers, said.status, said.kind, served=said.served,
        version=said.version, clock_ahead_s=said.clock_ahead_s,
    )  # fmt: skip


def _asked_mirror(target: Target, addresses: tuple[str, ...]) -> Endpoint:
    """One GET of its first page; the time counts from the connection on."""
    assert target.port is not None  # noqa: S101 - a mirror always has one
    started = time.monotonic()
    reply = sockets.get(target.host, target.port, "/", tls=target.tls, timeout_s=1.0)
    took = time.monotonic() - started
    return Endpoint(
        target.purpose, target.host, target.port, True, addresses, reply is not None,
        reply.status if reply is not None else None, answer_s=took if reply is not None else None,
        clock_ahead_s=_ahead(reply),
    )  # fmt: skip


def _ahead(reply: sockets.Reply | None) -> float | None:
    """The clock of this machine against the date of an answer that has just come."""
    if reply is None or not reply.date:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return round(time.time() - parsedate_to_datetime(reply.date).timestamp(), 1)
    except (ValueError, TypeError, OverflowError):
        return None


@record
class _Said:
    """What a server says of itself: status of the health route, kind, models, version, and its clock."""

    status: int | None = None
    kind: str | None = None
    served: tuple[str, ...] = ()
    version: str | None = None
    clock_ahead_s: float | None = None


def _who(target: Target, deadline: float) -> _Said:
    """Ask the health route, then the routes of each era.

    TRL's own server has its routes with a slash at the end, and answers a redirect without it; vLLM's has none:
    `/get_tensor_parallel_size/` is TRL 0.16, `/get_world_size/` TRL 0.17 to 1.10 (trl/scripts/vllm_serve.py),
    `/get_world_size` vLLM's own in development mode, which TRL 1.11 and newer need, `/version` vLLM in any mode
    (vllm/entrypoints).
    """

    def get(path: str) -> sockets.Reply | None:
        left = deadline - time.monotonic()
        if left <= 0 or target.port is None:
            return None
        return sockets.get(target.host, target.port, target.prefix + path, tls=target.tls, timeout_s=min(1.0, left))

    health = get("/health/")
    if health is None:  # busy or no HTTP: further questions would only wait
        return _Said()
    slashed = health.status not in {301, 302, 307, 308, 404}
    if not slashed:
        health = get("/health") or health
    routes = (
        (
            ("/get_world_size/", "world_size", "trl-0.17"),
            ("/get_tensor_parallel_size/", "tensor_parallel_size", "trl-0.16"),
        )
        if slashed
        else (("/get_world_size", "world_size", "vllm-native"), ("/version", "version", "vllm-openai"))
    )
    replies = [(kind, reply, key) for path, key, kind in routes for reply in (get(path),)]
    kind = next((kind for kind, reply, key in replies if reply is not None and reply.has(key)), None)
    if kind is None and all(reply is not None and reply.status in _NO_SUCH_ROUTE for _, reply, _ in replies):
        kind = _outsider(get("/openapi.json"))
    version = next((reply.object().get(key) for _, reply, key in replies if key == "version" and reply), None)
    return _Said(
        health.status, kind, _served(get("/v1/models")) if kind in _OPENAI else (),
        str(version) if version else None, _ahead(health),
    )  # fmt: skip


#: kinds of servers that list their models as OpenAI's do
_OPENAI = ("vllm-native", "vllm-openai")


def _served(reply: sockets.Reply | None) -> tuple[str, ...]:
    """The models of a server, by the name or path that it was started with (adapters by theirs); https://docs.vllm.ai/en/latest/serving/openai_compatible_server/"""
    listed = reply.object().get("data") if reply is not None else None
    rows = listed if isinstance(listed, list) else ()
    return tuple(str(each.get("root") or each.get("id")) for each in rows if isinstance(each, dict))


def _outsider(described: sockets.Reply | None) -> str:
    """Kind of a server without any of those routes: `/generate` without `/v1/` is the demo server of vLLM.

    https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/entrypoints/api_server.py
    """
    body = described.body if described is not None and described.status == _OK else ""
    return "vllm-demo" if '"/generate"' in body and '"/v1/' not in body else "other"


def ports(launch: Launch | None, training: Training | None, world: World | None) -> set[int]:
    """Ports whose holder is worth naming: the stack's defaults and what this run asks for.

    29500 torch's rendezvous, 8000 vLLM, 51216 TRL's weight sync, 6379 Ray.
    """
    found: set[object] = {29500, 8000, 51216, 6379, world.master_port if world else None}
    if training is not None:
        found |= {training.value("vllm_server_port"), training.value("vllm_group_port")}
    if launch is not None:
        named = [launch.options.get(name) for name in ("main_process_port", "master_port", "port")]
        found |= {_number(setting) for setting in (*named, launch.arguments.get("port"))}
    return {port for port in found if isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65536}


def _number(setting: Observed | None) -> int | None:
    try:
        return int(str(setting.value)) if setting is not None and setting.known else None
    except ValueError:
        return None
