"""`--deep` over many nodes: how they meet, what load the measurement puts on them, and how Ray starts it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from doctor.base.fact import Context, Meeting
from doctor.base.halves import digits_of
from doctor.base.record import record
from doctor.cluster.gathered import MANIFEST
from doctor.cluster.ray_child import Request, answers
from doctor.readers.homes import CARRIED
from doctor.readers.machine.measuring import join_s
from doctor.readers.patient.exchanges import (
    FIRST_BYTES,
    LARGEST_BYTES,
    MESSAGES,
    REPEAT_ROUNDS,
    REPEATS,
    rounds_of_nodes,
)
from doctor.readers.patient.products import LONGEST_S
from doctor.readers.patient.rings import HALF_BYTES, SIZES, TIMES
from doctor.readers.saved import write

SECONDS = 60.0
#: GPUs of a node that the announced load reckons with, as torchrun and Slurm users have them at most
_GPUS = 8
#: memory of a GPU besides the tensors: CUDA's context and NCCL's buffers
_CONTEXT_BYTES = 1 << 30
_RAY_EXTRA_S = 180.0  # import of torch and start of a worker, beside the two times that the user gave


class NoMeeting(Exception):  # noqa: N818 - the message is for the user
    """Nothing tells which nodes take part."""


def meeting(environ: Mapping[str, str], folder: Path, *, seconds: float, forced: bool) -> Meeting:
    """How this node meets the others, from the variables of its launcher.

    torchrun brings a store of its own; Slurm has none, so the nodes meet in the folder; other launchers that name
    MASTER_ADDR and MASTER_PORT are used as torch uses them: node 0 opens a store there.

    Raises:
        NoMeeting: no launcher that is known; says what to use.

    """
    for rank, nodes in (("GROUP_RANK", "GROUP_WORLD_SIZE"), ("SLURM_NODEID", "SLURM_STEP_NUM_NODES"),
                        ("SLURM_NODEID", "SLURM_NNODES"), ("NODE_RANK", "NNODES"), ("PET_NODE_RANK", "PET_NNODES"),
                        ("RANK", "WORLD_SIZE")):  # fmt: skip
        if environ.get(rank, "").isdecimal() and environ.get(nodes, "").isdecimal():
            break
    else:
        raise NoMeeting(
            "the number of nodes is unknown: start it by `srun`, `torchrun` or `--ray`, or set NODE_RANK, "
            "NNODES, MASTER_ADDR and MASTER_PORT on every node"
        )
    node, count = int(environ[rank]), int(environ[nodes])
    if rank == "SLURM_NODEID":
        return Meeting(node, count, _slurm_token(environ), seconds, forced=forced, folder=str(folder.resolve()))
    address, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT", "")
    if not address or not port.isdecimal():
        raise NoMeeting(
            f"{rank} and {nodes} are set, and not MASTER_ADDR and MASTER_PORT, at which the nodes could meet"
        )
    hosted = environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    token = environ.get("TORCHELASTIC_RUN_ID", "launch") + "." + environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return Meeting(node, count, token, seconds, forced=forced, address=address, port=int(port), hosted=hosted)


def _slurm_token(environ: Mapping[str, str]) -> str:
    """A name that no other step of any job has."""
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT")
    return "slurm-" + ".".join(environ.get(name, "0") for name in names)


@record
class Load:
    """The most that a measurement takes of one device: `round_bytes` sent and as many received in each of `rounds`."""

    rounds: int
    round_bytes: int
    ring_bytes: int
    memory_bytes: int

    @property
    def link_bytes(self) -> int:
        """Sent over the device's link in all, and received."""
        return self.rounds * self.round_bytes + self.ring_bytes


def load(nodes: int, kind: str) -> Load:
    """Upper bound of the load on a device, "cuda" or "cpu".

    A ring sends twice its size ((n - 1) / n of it, to be exact) from each device.
    """
    largest, rings = LARGEST_BYTES[kind], SIZES[kind]
    inside = _GPUS - 1 if kind == "cuda" else 0
    memory = 2 * largest + max(rings) + (_CONTEXT_BYTES if kind == "cuda" else 0)
    reduced = (TIMES + 1) * (sum(rings) + digits_of(nodes) * HALF_BYTES[kind])
    rounds = inside + rounds_of_nodes(nodes) + REPEATS * REPEAT_ROUNDS
    return Load(rounds, FIRST_BYTES + (MESSAGES + 1) * largest, 2 * reduced, memory)


def announcement(nodes: int, seconds: float, *, forced: bool) -> str:
    """What `--deep` is going to do to the cluster, told before it begins."""
    gpu, cpu = load(nodes, "cuda"), load(nodes, "cpu")
    left = "also those that others use" if forced else "those that others use are left alone"
    rounds = f"{_size(gpu.round_bytes)} sent and received in each of up to {gpu.rounds} rounds"
    wait = f"before that they wait up to {join_s(seconds):.0f} s for each other"
    return (
        f"--deep measures {nodes} nodes for up to {seconds:.0f} s; {wait}.\n"
        f"Each GPU ({left}): up to {LONGEST_S:.0f} s of matrix products; {_size(gpu.memory_bytes)} of its memory; "
        f"up to {rounds}, {_size(gpu.link_bytes)} in all.\n"
        f"Nodes without GPUs: the same on one core, {_size(cpu.round_bytes)} a round, {_size(cpu.link_bytes)} in all."
    )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def over_ray(
    context: Context,
    address: str,
    folder: Path,
    *,
    python: str,
    seconds: float,
    forced: bool,
    tell: Callable[[str], None],
) -> None:
    """Measure all nodes of a Ray cluster whose facts lie in `folder`, and put what each measured into its file.

    Node 0, the first that answers, opens torch's store at a free port of its own; the others get that address through
    Ray.

    Raises:
        RayRefused: there is no cluster to ask.
        OSError: the folder cannot be read or written.

    """
    offers = _asked(context, address, python, "offer", {}, 60.0)
    order = [node for node, answer in offers.items() if answer["state"] == "ok"]
    if not order:
        tell("--deep: no node could offer a place to meet")
        return
    tell(announcement(len(order), seconds, forced=forced))
    plan = {
        "order": order, "token": os.urandom(8).hex(), "seconds": seconds, "forced": forced,
        **offers[order[0]]["value"],
    }  # fmt: skip
    measured = _asked(context, address, python, "measure", plan, 2 * seconds + _RAY_EXTRA_S)
    _add(folder, measured)


def _asked(
    context: Context, address: str, python: str, task: str, arguments: Mapping[str, Any], timeout_s: float
) -> dict[str, dict[str, Any]]:
    """Answers of the nodes by their ids, in the order in which they came."""
    request = Request(
        address, f"doctor.cluster.deep_node:{task}", arguments, timeout_s=timeout_s, deadline_s=timeout_s + 30,
        modules=CARRIED,
    )  # fmt: skip
    lines = [line for line in answers(request, python, context.environ) if line["kind"] == "answer"]
    return {line["node"]: line for line in lines}


def _add(folder: Path, measured: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the fact into the facts files; a node that did not answer in time has that as its reason."""
    for row in json.loads((folder / MANIFEST).read_text("utf-8"))["nodes"]:
        answer = measured.get(row.get("engine_id"))
        if answer is None or not row.get("file"):
            continue
        path = folder / row["file"]
        data = json.loads(path.read_text("utf-8"))
        if answer["state"] == "ok":
            data["facts"]["collectives"] = answer["value"]
        else:
            reason = f"it was not measured: {answer['state']} {answer['reason']}".rstrip()
            data["facts"]["collectives"] = {"status": "unavailable", "value": None, "reason": reason, "source": "ray"}
        write(data, path)
