"""The facts of every node of a Ray cluster, gathered into a folder of facts files with a manifest."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from doctor.base.codec import dump, load
from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.base.redact import redact, redact_text
from doctor.cluster.gathered import write_manifest
from doctor.cluster.ray_child import Request, answers
from doctor.readers.collector import Collector
from doctor.readers.homes import CARRIED
from doctor.readers.saved import fact_type, write

#: facts about the command by which facts about a machine know where the run writes and connects
_GIVEN = ("launch", "training", "world", "model", "accelerate_config", "deepspeed_config")
_ANSWER_S = 60.0  # added to the time for one node: a thousand answers need theirs to arrive


def gather(
    context: Context,
    address: str,
    folder: Path,
    *,
    python: str,
    node_timeout_s: float,
    tell: Callable[[str], None],
) -> None:
    """Ask every node once and write what they answer.

    Args:
        context: the launch command and where it would run.
        address: of the cluster, "auto" or "host:port".
        folder: exists; gets a facts file for each node that answered, and nodes.json.
        python: interpreter with the cluster's Ray.
        node_timeout_s: longest wait for one node, the start of a worker there included.
        tell: gets sentences on how it goes.

    Raises:
        RayRefused: there is no cluster to ask.
        OSError: the folder cannot be written.

    """
    request = Request(
        address,
        "doctor.cluster.on_node:collect",
        {"cwd": str(context.cwd), "given": _packed(given_states(context))},
        timeout_s=node_timeout_s,
        deadline_s=node_timeout_s + _ANSWER_S,
        modules=CARRIED,
    )
    rows: dict[str, dict[str, Any]] = {}
    for line in answers(request, python, context.environ):
        if line["kind"] == "nodes":
            rows = {each["id"]: _row(each) for each in line["nodes"]}
            alive = sum(each["alive"] for each in line["nodes"])
            if alive == 1:
                tell(f"asking {alive} node of the Ray cluster (Ray {line['ray']})")
            else:
                tell(f"asking {alive} nodes of the Ray cluster (Ray {line['ray']})")
        elif line["kind"] == "answer":
            _keep(rows[line["node"]], line, folder)
    write_manifest(folder, "ray", list(rows.values()))


def _row(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node of the manifest that has not answered yet."""
    return {
        "file": None,
        "name": node["name"] or node["address"] or node["id"][:8],
        "state": "silent",
        "reason": "no answer within the overall time limit",
        "address": node["address"],
        "engine_id": node["id"],
        "resources": node["resources"],
    }


def _keep(row: dict[str, Any], line: Mapping[str, Any], folder: Path) -> None:
    """Put an answer into its row, and the facts into a file."""
    row.update({name: line[name] for name in ("state", "seconds", "clock_offset_s", "clock_error_s")})
    row["reason"] = redact_text(line["reason"])
    if line["state"] != "ok":
        return
    host = "".join(each if each.isalnum() or each in "-._" else "-" for each in row["name"])[:80]
    row["file"] = f"{host}-{row['engine_id'][:8]}.json"
    write(line["value"], folder / row["file"])


def given_states(context: Context) -> dict[str, Observed]:
    """Facts about the launch command, without its secrets, that nodes need to know where it writes and connects."""
    if not context.argv:
        return {}
    collector = Collector(context)
    collector.ask(_GIVEN)
    return {name: _harmless(name, collector.states[name]) for name in _GIVEN}


def _packed(states: Mapping[str, Observed]) -> str:
    """States for `on_node` to unpickle."""
    return base64.b64encode(pickle.dumps(states, protocol=4)).decode("ascii")


def _harmless(name: str, state: Observed) -> Observed:
    """A state that may travel; home folders stay as they are, for the nodes look at what lies there."""
    if state.status != "ok":
        return state
    return Observed.seen(load(fact_type(name), redact(dump(state.value), homes=False)))
