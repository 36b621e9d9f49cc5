"""Collects the fact `network`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from functools import partial

from doctor.base.fact import Context, fact
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Endpoint, Network
from doctor.facts.node import Port
from doctor.facts.training import Training
from doctor.facts.world import World

_PATIENCE_S = 2.7  # for everything that may hang, within the fact's 3 s
_RESOLVE_S = 1.5
_FIRST_GIDS = 8  # two kinds for each of IPv4, link-local and a VLAN or two
GID_INDEX = "NCCL_IB_GID_INDEX"


@fact()
def collect(
    context: Context,
    environment: Environment,
    launch: Launch | None,
    training: Training | None,
    world: World | None,
) -> Network:
    """Look at this machine's network and at the addresses that the run itself names, never at others."""
    from doctor.base.deadline import Pending
    from doctor.readers.machine import endpoints as _endpoints
    from doctor.readers.machine import interfaces as _interfaces
    from doctor.readers.machine import sockets

    hostname = socket.gethostname()
    until = time.monotonic() + _PATIENCE_S
    own_name = Pending(lambda: sockets.resolve(hostname))
    targets = _endpoints.targets(environment.variables, launch, training, world)
    looks = [(target, Pending(partial(_endpoints.look, target, knock=context.gathering))) for target in targets]
    interfaces = _interfaces.interfaces()
    own_ports = _endpoints.ports(launch, training, world)
    listeners, lingering = sockets.listeners(own_ports), sockets.lingering(own_ports)
    answered, addresses = own_name.result(min(until, time.monotonic() + _RESOLVE_S))
    endpoints = []
    for target, pending in looks:
        endpoint = pending.result(until)[1]
        endpoints.append(endpoint or Endpoint(target.purpose, target.host, target.port))
    return Network(
        hostname=hostname,
        hostname_addresses=addresses or (),
        hostname_answered=answered,
        interfaces=interfaces,
        listeners=listeners,
        endpoints=tuple(endpoints),
        infiniband=_infiniband(),
        ports=_rdma_ports(environment.variables, training),
        lingering=lingering,
    )


def _rdma_ports(variables: Mapping[str, str], training: Training | None) -> tuple[Port, ...]:
    """With the first addresses and the chosen one, where `NCCL_IB_GID_INDEX` chooses."""
    own = training.environment_set.get(GID_INDEX) if training is not None else None
    chosen = str(own.value) if own is not None and own.known else variables.get(GID_INDEX, "")
    if not chosen.strip().isdecimal() or len(chosen.strip()) > len("255"):
        return ()
    from doctor.readers.machine import rdma

    return rdma.ports(gids=frozenset({*range(_FIRST_GIDS), int(chosen)}))


def _infiniband() -> tuple[str, ...]:
    """Names of the RDMA devices, "mlx5_0"."""
    try:
        return tuple(sorted(entry.name for entry in os.scandir("/sys/class/infiniband")))
    except OSError:
        return ()
