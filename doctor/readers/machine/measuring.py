"""Starts the measuring processes of this node, one for each GPU or one on the CPU, and reads what they told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.fact import Meeting
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.base.scratch import Folder
from doctor.facts.collectives import Collectives, Exchange, Process, Product, Ring
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.visible import visible
from doctor.readers.patient import folder as _patient_child
from doctor.readers.patient.carry import carry

#: seconds for importing torch from a slow shared disk, and for what is under way when the time is up
IMPORT_S, GRACE_S = 120.0, 30.0
#: seconds that the process with the store stays behind for the others; least that the nodes wait for each other
STORE_S, LEAST_JOIN_S = 3.0, 10.0
#: share of a GPU's memory that an idle card may hold (GPU006 says the same)
IDLE_SHARE = 0.05
_ERROR_CHARACTERS = 300

_BOOT = """\
import sys
sys.path.insert(0, sys.argv[3])
from doctor.readers.patient.measure import main
main(sys.argv[1], sys.argv[4])
"""

#: variables of the launcher that would make torch join the group of the run
_LAUNCHER = frozenset({
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_ERROR_FILE",
})  # fmt: skip


@record
class Device:
    """What one process measures: "cuda" with torch's `index`, "cpu", or "busy": it only says that the node is there."""

    kind: str
    index: int = 0
    gpu: Gpu | None = None


def measure(meeting: Meeting, executable: str, environ: Mapping[str, str], gpus: Gpus | None) -> Collectives:
    """Run this node's part to its end.

    Raises:
        OSError: the interpreter cannot be started.

    """
    started = time.monotonic()
    chosen, busy = devices(gpus, environ.get("CUDA_VISIBLE_DEVICES"), forced=meeting.forced)
    with Folder("measured") as folder:
        carry(("doctor.readers.patient.measure",), Path(folder))
        children: list[_patient_child.Child] = []
        try:
            for local, device in enumerate(chosen):
                plan = _plan(meeting, local, len(chosen), device)
                children.append(_child(executable, folder, plan, environ))
        finally:  # also where a later one cannot be started
            ended = [each.finish() for each in children]
    parts = list(zip(chosen, ended))  # noqa: B905 - Python 3.9
    return Collectives(
        meeting.token,
        meeting.node,
        meeting.nodes,
        "folder" if meeting.folder else "address" if meeting.hosted else "launcher",
        seconds=round(time.monotonic() - started, 1),
        processes=tuple(_process(local, device, each) for local, (device, each) in enumerate(parts)),
        exchanges=tuple(_exchange(line["pair"]) for each in ended for line in each.all("pair")),
        rings=tuple(_ring(line["ring"]) for each in ended for line in each.all("ring")),
        busy=busy,
    )


def devices(
    gpus: Gpus | None, visible_devices: str | None, *, forced: bool
) -> tuple[list[Device], tuple[tuple[int, str], ...]]:
    """What this node measures with, and the GPUs that are left out, with the reason."""
    if gpus is None or not gpus.gpus:
        return [Device("cpu")], ()
    by_index = {gpu.index: gpu for gpu in gpus.gpus}
    chosen: list[Device] = []
    busy: list[tuple[int, str]] = []
    for at, index in enumerate(visible(gpus, visible_devices)[0]):
        gpu = by_index[index]
        reason = None if forced else in_use(gpu)
        if reason is None:
            chosen.append(Device("cuda", at, gpu))
        else:
            busy.append((index, reason))
    return chosen or [Device("busy")], tuple(busy)


def in_use(gpu: Gpu) -> str | None:
    """Why a GPU is left alone; None when it is free."""
    if gpu.error:
        return "it cannot be read"
    if gpu.mig_enabled:
        return "it is split into MIG instances"
    if gpu.processes:
        return f"{len(gpu.processes)} processes use it"
    if gpu.memory_used_bytes is None or not gpu.memory_total_bytes:
        return "it does not tell whether it is in use"
    if gpu.memory_used_bytes > IDLE_SHARE * gpu.memory_total_bytes:
        return f"{gpu.memory_used_bytes / 2**30:.1f} GiB of its memory are in use"
    return None


def join_s(seconds: float) -> float:
    """How long the nodes of a measurement of so many seconds wait for each other."""
    return max(LEAST_JOIN_S, seconds)


def _plan(meeting: Meeting, local: int, ranks: int, device: Device) -> dict[str, Any]:
    wait_s = join_s(meeting.seconds)
    return {
        "node": meeting.node, "nodes": meeting.nodes, "local": local, "ranks": ranks, "token": meeting.token,
        "device": device.kind, "index": device.index, "uuid": device.gpu.uuid if device.gpu else None,
        "folder": meeting.folder, "address": meeting.address, "port": meeting.port, "hosts_store": meeting.hosted,
        "join_s": wait_s, "seconds": meeting.seconds, "store_s": STORE_S, "parent": os.getpid(),
        "limit_s": IMPORT_S + wait_s + meeting.seconds + GRACE_S,
    }  # fmt: skip


def _child(executable: str, folder: str, plan: dict[str, Any], environ: Mapping[str, str]) -> _patient_child.Child:
    kept = {name: value for name, value in environ.items() if name not in _LAUNCHER}
    arguments = (folder, json.dumps(plan))
    return _patient_child.Child(executable, arguments, environ=kept, timeout_s=plan["limit_s"], text=_BOOT)


def _process(local: int, device: Device, ended: _patient_child.Ended) -> Process:
    """How one process fared, from its lines and its end."""
    phases, decisions = ended.all("phase"), [line["decision"] for line in ended.all("decision")]
    versions = [line["torch"] for line in ended.all("torch")]
    products = [line["product"] for line in ended.all("product")]
    decision = decisions[0] if decisions else {}
    outcome, error = _outcome(ended, decision)
    return Process(
        local,
        outcome,
        gpu=device.gpu.index if device.gpu else None,
        gpu_name=device.gpu.name if device.gpu else None,
        backend=decision.get("backend"),
        torch=versions[0] if versions else None,
        phase=phases[-1]["phase"] if phases else None,
        error=error,
        signal=ended.signal,
        product=Product(**products[0]) if products else None,
        members=decision.get("members"),
        missing=tuple(decision.get("missing", ())),
    )


def _outcome(ended: _patient_child.Ended, decision: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Outcome as in `ProcessOutcome`, and the error's last line."""
    errors, ends = ended.all("error"), ended.all("whole")
    if ended.signal:
        return "died", None
    if errors:
        return "error", _last_line(errors[0]["error"])
    if ends:
        return ("ok" if ends[0]["whole"] else "cut"), None
    if ended.timed_out:
        return "timeout", None
    if decision and decision["rank"] is None:
        return "left out", None
    return "error", _last_line(ended.stderr) or f"it ended with exit code {ended.exit_code}"


def _last_line(text: str) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return redact_text(lines[-1])[:_ERROR_CHARACTERS] if lines else None


def _exchange(line: Mapping[str, Any]) -> Exchange:
    (node_a, local_a), (node_b, local_b) = line["a"], line["b"]
    return Exchange(
        node_a, local_a, node_b, local_b,
        latency_us=round(line["latency_us"], 2),
        bandwidth_gb_s=float(f"{1e-9 / line['byte_s']:.4g}"),
        message_bytes=line["bytes"],
        repeat=line["repeat"],
        latency_spread=round(line["latency_spread"], 4),
        bandwidth_spread=round(line["spread"], 4),
    )  # fmt: skip


def _ring(line: Mapping[str, Any]) -> Ring:
    return Ring(
        line["group"], line["nodes"], line["bytes"], float(f"{line['seconds']:.4g}"),
        float(f"{line['bus_gb_s']:.4g}"), sum_right=line["sum"],
    )  # fmt: skip
