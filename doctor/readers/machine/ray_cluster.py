"""Collects the fact `ray_cluster`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from doctor.base.fact import Context, fact
from doctor.base.redact import redact_text
from doctor.facts.environment import Environment
from doctor.facts.ray_cluster import RayCluster


@fact()
def collect(context: Context, environment: Environment) -> RayCluster:  # noqa: ARG001 - read from this machine
    """Find the cluster as `ray.init()` would (ray/_private/services.py), without joining it.

    The order is RAY_ADDRESS (unless "auto"), then the file that `ray start` leaves, then a daemon found running.
    """
    from doctor.readers.machine import ray_processes, sockets

    variables = environment.variables
    folder = f"{variables.get('RAY_TMPDIR') or variables.get('TMPDIR') or '/tmp'}/ray"  # noqa: S108 - Ray's own rule
    running = ray_processes.raylets()
    address, source = _address(variables, folder, [each.gcs_address for each in running if each.gcs_address])
    host, port = _host_and_port(address)
    here = [each for each in running if address is None or _is_at(each.gcs_address, address, host, port)]
    return RayCluster(
        address=redact_text(address) if address else None,
        address_from=source,
        answers=sockets.connects(host, port) if host and port else None,
        raylet_running=bool(running),
        version=here[0].version if here else None,
        python_version=here[0].python_version if here else None,
        session_dir=(here[0].session_dir if here else None) or _latest(folder),
        node_address=here[0].node_address if here else None,
    )


def _address(variables: Mapping[str, str], folder: str, running: list[str]) -> tuple[str | None, str | None]:
    """Address and where it comes from."""
    named = (variables.get("RAY_ADDRESS") or "").strip()
    if named == "local":
        return None, "RAY_ADDRESS"
    if named and named != "auto":
        return named, "RAY_ADDRESS"
    path = Path(folder) / "ray_current_cluster"
    try:
        with path.open("rb") as file:
            written = file.read(256).decode("utf-8", "replace").strip()
    except OSError:
        written = ""
    if written:
        return written, str(path)
    return (running[0], "a running raylet") if running else (None, None)


def _is_at(gcs_address: str | None, address: str, host: str | None, port: int | None) -> bool:
    """Whether a daemon of this machine belongs to the cluster at `address`."""
    if gcs_address == address:
        return True
    if host not in {"127.0.0.1", "localhost", "::1", "0.0.0.0"}:  # noqa: S104 - compared, not bound
        return False
    # a client address (ray://) names the port of Ray's client server, not the one that daemons know
    return address.startswith("ray://") or (gcs_address or "").endswith(f":{port}")


def _host_and_port(address: str | None) -> tuple[str | None, int | None]:
    """Host and port of `host:port`, `[::1]:port` or `ray://host:port`; None where the address has none."""
    if not address:
        return None, None
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None, None
    return host, port


def _latest(folder: str) -> str | None:
    """Return the session folder that `session_latest` points to, when it is there."""
    link = Path(folder) / "session_latest"
    return os.path.realpath(link) if link.is_dir() else None
