"""Runs on a node of a Ray cluster, in a worker's Python: collects that machine's facts, redacted before they leave.

What is judged is the environment that Ray's workers have there: the worker's interpreter and packages, and the
variables that its raylet was started with. Keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import base64
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.readers.collector import Collector, about_command, about_elsewhere
from doctor.readers.saved import as_json, fact_names

#: what Ray itself sets in workers that have no GPU or CPU of their own: `ray/_private/utils.py`, `accelerators/`
_SET_BY_RAY = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "OMP_NUM_THREADS",
    "PYTHONPATH", "PYTHONBREAKPOINT", "SPT_NOENV",
)  # fmt: skip
#: no matter of a node: a Ray job is started from one place, and the nodes together come from gathering
_NOT_HERE = {
    "cluster": Observed.unseen("one machine is judged", applies=False),
    "commands": Observed.unseen("the launch command is not started on this node", applies=False),
}


def collect(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The facts file of this node, `doctor-facts/1`.

    Args:
        arguments: `cwd`, the folder where the launch command runs; `given`, pickled states of facts about that command
            (our own records, made by the asker), for facts that look where the command will write or connect.

    """
    given: dict[str, Observed] = pickle.loads(base64.b64decode(arguments["given"]))  # noqa: S301 - see above
    context = Context(cwd=Path(arguments["cwd"]), environ=variables(os.environ), python=sys.executable, gathering=True)
    names = [
        name for name in fact_names() if name not in _NOT_HERE and not (about_command(name) or about_elsewhere(name))
    ]
    collector = Collector(context, given)
    collector.ask(names)
    return as_json({**{name: state for name, state in collector.states.items() if name in names}, **_NOT_HERE})


def variables(own: Mapping[str, str], proc: Path = Path("/proc")) -> dict[str, str]:
    """Variables that a job's workers inherit here: those of the raylet; where they may not be read, our own without
    what Ray sets in each worker.
    """
    try:
        entries = (proc / own["RAY_RAYLET_PID"] / "environ").read_bytes().decode("utf-8", "replace").split("\0")
    except (KeyError, OSError):
        return {name: value for name, value in own.items() if name not in _SET_BY_RAY}
    found = dict(each.split("=", 1) for each in entries if "=" in each)
    if found.get("RAY_LD_PRELOAD_ON_WORKERS") == "0":  # its allocator is the raylet's alone: ray/_private/services.py
        found.pop("LD_PRELOAD", None)
    return found
