"""Ports for programs that open them seconds after they were chosen."""

from __future__ import annotations

import itertools
import os
import random
import socket

#: above what Ray's workers listen on (10002 to 19999), below torch's own 29500 and what Linux gives to outgoing
#: connections and to port 0: https://docs.ray.io/en/latest/ray-core/configure.html and ip_local_port_range (32768 to
#: 60999) in https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html
_FIRST, _COUNT = 20_000, 9_000
_WORKERS = 50  # workers of one test session share the range: none gets a port of another's


def _ports() -> itertools.cycle[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    ports = list(range(_FIRST + worker, _FIRST + _COUNT, _WORKERS))
    begin = random.randrange(len(ports))  # noqa: S311 - where to begin is no secret; another session begins elsewhere
    return itertools.cycle(ports[begin:] + ports[:begin])


_PORTS = _ports()


def free_port() -> int:
    """A TCP port that nobody has on any address; each call gives another one."""
    for port in itertools.islice(_PORTS, _COUNT // _WORKERS):
        try:
            socket.create_server(("", port)).close()
        except OSError:
            continue
        return port
    raise RuntimeError("no port is free")
