"""Runs as a Ray driver under an interpreter that has Ray: asks the nodes of a cluster and writes what they answer.

One request comes as a line of JSON on stdin, which stays open as long as somebody wants the answers; answers leave as
lines of JSON on stdout. What runs on the nodes is a function of a carried module; the carried folder reaches them as
`py_modules` of this job's runtime environment (https://docs.ray.io/en/latest/ray-core/handling-dependencies.html).
Keeps to Python 3.9, the standard library and Ray.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import threading
from typing import Any, Callable, Optional
from urllib.parse import urlsplit

_KNOCK_S = 5.0
#: `NodeDeathInfo.Reason` in Ray's common.proto: EXPECTED_TERMINATION (`ray stop`), AUTOSCALER_DRAIN_IDLE
_ON_PURPOSE = (1, 4)

#: over -> function(ray, request, nodes, write), see `ray_work` for what a request holds
MODES = {
    "nodes": "doctor.cluster.ray_work:ask_nodes",
    "items": "doctor.cluster.ray_work:share_items",
    "stream": "doctor.cluster.ray_stream:stream",
}
#: set when the asker says "stop": a stream is to be ended in good order
STOP = threading.Event()
_NONE_FOUND = (
    "no running Ray cluster is found from here: neither RAY_ADDRESS nor a `ray start` on this machine names one; "
    "name it with --ray HOST:PORT"
)
Write = Callable[[dict[str, Any]], None]


class _Refused(Exception):  # noqa: N818 - an answer
    """There is no cluster to talk to; `args` are (what, reason)."""


def main() -> None:
    """Serve the one request on stdin; ends with the process."""
    write = _writer()
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        ray = _connected(request)
        nodes = nodes_of(ray)
        write({"kind": "nodes", "ray": ray.__version__, "nodes": nodes})
        function_of(MODES[request["over"]])(ray, request, nodes, write)
    except _Refused as exc:
        write({"kind": "error", "what": exc.args[0], "reason": exc.args[1]})
    except Exception as exc:  # noqa: BLE001 - the asker is told, whatever it is
        write({"kind": "error", "what": "failed", "reason": one_line(exc)})
    write({"kind": "end"})
    os._exit(0)  # nothing of Ray's own farewell is worth waiting for


def function_of(task: str) -> Callable[..., Any]:
    """The function that "package.module:function" names."""
    module, _, name = task.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def one_line(error: BaseException) -> str:
    """Type and first line of an error, for a person."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}".rstrip(": ")


def _writer() -> Write:
    """Write lines to what was stdout; whatever else prints there goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()
    out.write("\n")  # ends what the interpreter may have printed there before

    def write(line: dict[str, Any]) -> None:
        text = json.dumps(line) + "\n"
        with lock:
            out.write(text)
            out.flush()

    return write


def _die_with_parent() -> None:
    """End this process and all that it started once nobody holds the other end of stdin; a word on it sets `STOP`."""
    while os.read(0, 4096):
        STOP.set()
    if os.getpgrp() == os.getpid():  # a group of our own
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


# Connecting ------------------------------------------------------------------------------------------------------


def _connected(request: dict[str, Any]) -> Any:
    """Ray, connected to a cluster that runs already.

    Raises:
        _Refused: there is none there, or it is of another version of Ray or Python.

    """
    address = _address(request["address"])
    # no figures sent to Ray's makers, and no `uv run` around what runs on the nodes (uv_runtime_env_hook.py)
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0", RAY_OVERRIDE_JOB_RUNTIME_ENV="1")
    import ray

    environment: dict[str, Any] = {"py_modules": list(request.get("modules", ()))}
    if request.get("env"):
        environment["env_vars"] = dict(request["env"])
    try:
        ray.init(address=address, runtime_env=environment, log_to_driver=False, logging_level="ERROR")
    except ConnectionError as exc:
        raise _Refused("connect", _NONE_FOUND if address == "auto" else one_line(exc)) from None
    except RuntimeError as exc:
        what = "version" if "ersion mismatch" in str(exc) else "connect"
        raise _Refused(what, " ".join(str(exc).split())[:600]) from None
    return ray


def _address(address: str) -> str:
    """The address to hand to Ray, never one that would make it start a cluster of its own.

    Raises:
        _Refused: it names no running cluster, or nothing accepts a connection there.

    """
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if named == "local" or not address:
        raise _Refused("connect", "`local` would start a cluster instead of finding one")
    if named and named != "auto":
        _knock(named)
    return address


def _knock(address: str) -> None:
    """Refuse an address where nothing listens: Ray itself would try for a minute."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or (not port and "//" not in address):
        raise _Refused("connect", f"`{address}` is not an address: host:port is expected")
    if not port:
        return
    try:
        socket.create_connection((host, port), timeout=_KNOCK_S).close()
    except OSError as exc:
        raise _Refused("connect", f"nothing accepts a connection at {host}:{port} ({exc.strerror or exc})") from None


# Nodes -----------------------------------------------------------------------------------------------------------


def nodes_of(ray: Any) -> list[dict[str, Any]]:
    """Nodes as Ray lists them, those too that were lost.

    Left out are the entries of nodes that went on purpose, and of those that are back: at their address and host name
    another one lives.
    """
    listed = ray.nodes()
    living = {_place(each) for each in listed if each.get("Alive")}
    return [
        {
            "id": each["NodeID"],
            "name": each.get("NodeManagerHostname") or each.get("NodeName") or "",
            "address": each.get("NodeManagerAddress"),
            "alive": bool(each.get("Alive")),
            "resources": _resources(each.get("Resources") or {}),
            "reason": each.get("DeathReasonMessage") or "",
        }
        for each in listed
        if each.get("Alive") or (_place(each) not in living and each.get("DeathReason") not in _ON_PURPOSE)
    ]


def _place(node: dict[str, Any]) -> tuple[Optional[str], Optional[str]]:
    return node.get("NodeManagerAddress"), node.get("NodeManagerHostname")


def _resources(resources: dict[str, float]) -> dict[str, float]:
    """Resources without the marks that Ray itself makes of each node ("node:10.0.0.1")."""
    return {name: float(value) for name, value in resources.items() if not name.startswith("node:")}


if __name__ == "__main__":
    main()
