"""The nodes of a run, judged together: what each told of itself, and which did not tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from doctor.base.evidence import Observed
from doctor.base.record import record

#: "ok": its facts are here; "silent": no answer within the deadline; "died": it was lost while it was asked;
#: "missing": expected, and left no file; "failed": it answered that it could not, see `reason`
NodeState = Literal["ok", "silent", "died", "missing", "failed"]


@record
class ClusterNode:
    """One machine.

    Args:
        name: host name, made unique in its cluster ("host", "host-2").
        state: see `NodeState`; `reason` one clause where it is not "ok".
        facts: name of a fact -> its state, as a facts file of that node holds them.
        address: IP address by which the engine knows it.
        engine_id: the engine's own name for it (Ray's node id), None without an engine.
        rank: its number in the launch (SLURM_NODEID, GROUP_RANK, NODE_RANK), None where nothing tells.
        seconds: from the question to the answer.
        clock_offset_s: its clock minus the asking machine's, measured; `clock_error_s` the most it can be wrong by.
        resources: what the engine would hand out on it: "CPU", "GPU", "memory" and "object_store_memory" in bytes.

    """

    name: str
    state: NodeState = "ok"
    reason: str = ""
    facts: Mapping[str, Observed] = field(default_factory=dict)
    address: str | None = None
    engine_id: str | None = None
    rank: int | None = None
    seconds: float | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    resources: Mapping[str, float] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        """Value of a fact; None where this node could not see it."""
        state = self.facts.get(name)
        return state.value if state is not None and state.known else None


@record
class Cluster:
    """All nodes that were asked, in order of rank, then of name.

    `engine`: "ray", "slurm", "torchrun", "folder" (files that somebody collected). `expected`: how many nodes the
    engine or the launch names, None where nothing tells.
    """

    engine: str
    nodes: tuple[ClusterNode, ...] = ()
    expected: int | None = None

    @property
    def heard(self) -> tuple[ClusterNode, ...]:
        """Nodes whose facts are here."""
        return tuple(node for node in self.nodes if node.state == "ok")
