"""Starts a real Ray cluster of several nodes on this machine and keeps it until its stdin is closed.

Run by :mod:`tests.cluster.rays` under an interpreter that has Ray. Prints one line of JSON: the address, and for each
node its id and the pid of its raylet. A line "kill N" kills node N's raylet as a crash would.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys

#: processes of a head node that cost seconds of a small machine: the autoscaler, and what forwards the logs of workers
_NOT_NEEDED = {"no_monitor": True, "include_log_monitor": False}


def main() -> None:
    """Start nodes with the variables that argv[1] lists for each, serve commands, and end."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    nodes = [
        cluster.add_node(
            num_cpus=each.get("cpus", 2),
            object_store_memory=80 << 20,
            env_vars=each.get("env", {}),
            include_dashboard=False,
            **_NOT_NEEDED,
        )
        for each in json.loads(sys.argv[1])
    ]
    cluster.wait_for_nodes()
    told = [{"id": node.node_id, "raylet": _raylet(node)} for node in nodes]
    sys.stdout.write(json.dumps({"address": cluster.address, "nodes": told}) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        word, number = line.split()
        os.kill(told[int(number)]["raylet"], {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[word])
    for each in told:
        _continue(each["raylet"])
    cluster.shutdown()


def _raylet(node: object) -> int:
    processes = node.all_processes["raylet"]  # type: ignore[attr-defined]
    return int(processes[0].process.pid)


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
