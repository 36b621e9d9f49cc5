"""A Ray cluster that this machine belongs to, seen without connecting to it."""

from __future__ import annotations

from doctor.base.record import record


@record
class RayCluster:
    """`address`: RAY_ADDRESS or the file that `ray start` leaves; `answers`: its port accepts a connection.

    `version` and `python_version` ("3.11", major and minor) of the running cluster, from its daemon on this machine;
    None when not seen: a cluster elsewhere, or a package replaced under it. `node_address`: by which this machine's
    daemon is registered there.
    """

    address: str | None = None
    address_from: str | None = None
    answers: bool | None = None
    raylet_running: bool = False
    version: str | None = None
    python_version: str | None = None
    session_dir: str | None = None
    node_address: str | None = None
