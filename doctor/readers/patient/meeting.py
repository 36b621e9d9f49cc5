"""How the measuring processes of all nodes find each other: through a store of torch.distributed, and nothing else.

The store is the one at which the launcher's agent listens (torchrun), one that the first node opens where the launcher
names an address for it, or a file in a folder that all nodes share. Every process leaves a note with its number; the
first to arrive waits for the rest, and decides at the deadline with whom the measurement goes on. So a node that never
comes costs that time, and is named.

https://docs.pytorch.org/docs/stable/distributed.html#distributed-key-value-store
"""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any, NamedTuple, Optional

_POLL_S = 0.1
#: how long a decision or a note that is on its way may take beyond the deadline
_GRACE_S = 10.0


class Decision(NamedTuple):
    """Who measures by which `backend`: (node, local) of every process in order of rank; and who never came."""

    members: list[tuple[int, int]]
    backend: str
    missing: list[int]

    def rank(self, node: int, local: int) -> Optional[int]:
        """Rank of a process; None when it was left out or came late."""
        return self.members.index((node, local)) if (node, local) in self.members else None


def open_store(dist: Any, plan: dict[str, Any]) -> Any:
    """The store of all, under a name of this measurement alone.

    Raises:
        RuntimeError: nobody listens at the address, or the folder cannot be written (torch's own words).

    """
    limit = timedelta(seconds=plan["join_s"] + _GRACE_S)
    if plan.get("folder"):
        store = dist.FileStore(plan["folder"] + "/.meeting-" + plan["token"], -1)
        store.set_timeout(limit)
    else:
        hosts = plan["hosts_store"] and plan["node"] == 0 and plan["local"] == 0
        store = dist.TCPStore(plan["address"], plan["port"], None, hosts, limit, wait_for_workers=False)
    return dist.PrefixStore("doctor/" + plan["token"], store)


def meet(store: Any, plan: dict[str, Any]) -> Decision:
    """Leave a note, wait for the others, and take the decision of the first process.

    Raises:
        RuntimeError: the process that was to decide is gone.

    """
    deadline = time.monotonic() + plan["join_s"]
    number = store.add("arrived", 1)
    note = {"node": plan["node"], "local": plan["local"], "ranks": plan["ranks"], "device": plan["device"]}
    store.set("note/%d" % number, json.dumps(note))
    if number == 1:
        store.set("decision", json.dumps(decide(_notes(store, plan["nodes"], deadline), plan["nodes"])._asdict()))
    decided = json.loads(store.get("decision").decode())
    decided["members"] = [(node, local) for node, local in decided["members"]]
    return Decision(**decided)


def _notes(store: Any, nodes: int, deadline: float) -> list[dict[str, Any]]:
    """Notes of all processes, or of those that came before the deadline."""
    notes: list[dict[str, Any]] = []
    while True:
        arrived = store.add("arrived", 0)
        while len(notes) < arrived:
            notes.append(json.loads(store.get("note/%d" % (len(notes) + 1)).decode()))
        ranks = {each["node"]: each["ranks"] for each in notes}
        if (len(ranks) == nodes and len(notes) >= sum(ranks.values())) or time.monotonic() > deadline:
            return notes
        time.sleep(_POLL_S)


def decide(notes: list[dict[str, Any]], nodes: int) -> Decision:
    """GPUs measure where there are any, else the nodes themselves; one that holds a busy GPU alone is left out."""
    device = "cuda" if any(each["device"] == "cuda" for each in notes) else "cpu"
    members = sorted((each["node"], each["local"]) for each in notes if each["device"] == device)
    seen = {each["node"] for each in notes}
    missing = [node for node in range(nodes) if node not in seen]
    return Decision(members, "nccl" if device == "cuda" else "gloo", missing)
