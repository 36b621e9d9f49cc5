"""Interfaces, listening ports, names, and whether the addresses that the run needs answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record
from doctor.facts.node import Port


@record
class Interface:
    """A network interface; `speed_mbps` None when not reported."""

    name: str
    addresses: tuple[str, ...] = ()
    is_up: bool = True
    mtu: int | None = None
    speed_mbps: int | None = None


@record
class Listener:
    """Who listens on a TCP port; `process` None when it may not be seen."""

    port: int
    address: str
    pid: int | None = None
    process: str | None = None


@record
class Endpoint:
    """An address that the run will talk to.

    `purpose`: "vllm_server", "master", "hub" (the mirror that HF_ENDPOINT names).
    `resolves`: None when the name servers gave no answer in time; `answers`: a TCP
    connection within 1 s, None when it was not tried (the master is not up before launch).
    `connection`: of the master, tried from each of several nodes: "accepted", "refused" (nothing listens yet, or a
    firewall answers for it), "timed out" (a firewall drops it, or there is no way back), "unreachable" (no way there).
    `http_status`, `http_kind`: of GET /health and of the routes found: "trl-0.16", "trl-0.17" (to 1.10),
    "vllm-native" (with the development routes that TRL 1.11 and newer need), "vllm-openai" (vLLM without them),
    "vllm-demo" (`vllm.entrypoints.api_server`), "other" (it has none of their routes); None where it did not say. Both
    None with `answers` True: something accepts the connection but says nothing within the time.
    `served`: models that it says it serves; `version` as it states it; `answer_s`: time to its first answer;
    `clock_ahead_s`: this machine's clock against the date that it stamped on that answer, to a second.
    """

    purpose: str
    host: str
    port: int | None = None
    resolves: bool | None = None
    addresses: tuple[str, ...] = ()
    answers: bool | None = None
    http_status: int | None = None
    http_kind: str | None = None
    connection: str | None = None
    served: tuple[str, ...] = ()
    version: str | None = None
    answer_s: float | None = None
    clock_ahead_s: float | None = None


@record
class Network:
    """What this machine's network looks like.

    `hostname_addresses`: what this host's own name resolves to (127.0.1.1 breaks gloo and NCCL bootstrap);
    `hostname_answered` False: the name servers did not answer in time, so the addresses are unknown.
    `ports`: of RDMA devices, read where a variable chooses among their addresses.
    `listeners`: all listening TCP ports; the process only for ports that the stack or this run uses.
    `lingering`: of those ports, the ones from which the kernel still holds closed IPv4 connections (TIME_WAIT and the
    states before it); None where its table could not be read.
    """

    hostname: str
    hostname_addresses: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    listeners: Mapping[int, Listener] = field(default_factory=dict)
    endpoints: tuple[Endpoint, ...] = ()
    infiniband: tuple[str, ...] = ()
    hostname_answered: bool = True
    ports: tuple[Port, ...] = ()
    lingering: tuple[int, ...] | None = None

    def endpoint(self, purpose: str) -> Endpoint | None:
        """The endpoint asked for a purpose."""
        return next((each for each in self.endpoints if each.purpose == purpose), None)
