"""Runs on a node of a Ray cluster, in a worker's Python: offers a place to meet, and measures with the other nodes.

Keeps to Python 3.9 and the standard library; torch is used by children only (`doctor.readers.machine.measuring`).
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from doctor.base.codec import dump
from doctor.base.fact import Context, Meeting
from doctor.base.redact import redact, redact_text
from doctor.cluster.on_node import variables
from doctor.readers.collector import Collector


def offer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Address of this node, as Ray knows it, and a port that is free there; torch listens on it a moment later."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return {"address": arguments["node"]["address"], "port": probe.getsockname()[1]}


def measure(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The fact `collectives` of this node, as a facts file holds it.

    Args:
        arguments: `order` of the nodes' ids, `address` and `port` of the first, `token`, `seconds`, `forced`.

    """
    order, own = arguments["order"], arguments["node"]["id"]
    if own not in order:
        reason = "the meeting place had been agreed on before this node answered"
        return {"status": "unavailable", "value": None, "reason": reason, "source": ""}
    meeting = Meeting(
        order.index(own), len(order), arguments["token"], arguments["seconds"],
        forced=arguments["forced"], address=arguments["address"], port=arguments["port"], hosted=True,
    )  # fmt: skip
    context = Context(environ=variables(os.environ), python=sys.executable, deep=True, meeting=meeting)
    collector = Collector(context)
    collector.ask(["collectives"])
    state = collector.states["collectives"]
    return {
        "status": state.status,
        "value": redact(dump(state.value)) if state.status == "ok" else None,
        "reason": redact_text(state.reason),
        "source": state.source,
    }
