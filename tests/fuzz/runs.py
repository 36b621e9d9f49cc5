"""Damaged run folders and what lies in and beside them, and the command that reads each."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from damage import as_json, damaged
from logs import LOG, TRACE

from tests.logs.metrics import test_trackers as trackers

EVENT = {"t_ns": 10**18, "host": "h", "pid": 1, "rank": 0, "role": "trainer", "step": 3, "kind": "alarm",
         "id": "NUM001",
         "data": {"policy": "stop", "step": 3, "text": "x", "type": "E", "traceback": TRACE}}  # fmt: skip
FRAME = {"file": "/a/train.py", "line": 12, "function": "f", "qualname": "f", "module": "__main__", "own": True,
         "statement": 12, "lines": ["return scores + mask"], "values": [["scores", {
             "type": "torch.Tensor", "tensor": True, "shape": [2, 4], "dtype": "torch.float32", "device": "cpu"}]],
         "conditions": []}  # fmt: skip
CAPSULE = {
    "schema": "doctor-capsule/1", "captured_ns": 1, "seconds": 0.1, "trouble": [], "stands": None,
    "process": {"rank": 0, "pid": 7, "role": "trainer",
                "cards": [{"index": 1, "total": 80 << 30, "used": 79 << 30, "processes": []}]},
    "configs": [{"name": "args", "type": "Args", "config": True, "fields": {"n": {"type": "int", "value": 3}}}],
    "modules": [{"name": "model", "type": "M", "module": True, "parameters": 90, "devices": {"cpu": 4}}],
    "failures": [{"source": "excepthook", "ends": True, "thread": None, "code": None, "t_ns": 1, "chain": [
        {"type": "RuntimeError", "relation": "raised", "frames": [FRAME],
         "message": "The size of tensor a (12) must match the size of tensor b (48) at non-singleton dimension 3"}]}],
}  # fmt: skip
SMI = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n" + "".join(
    f"2026/03/01 10:00:{each:02d}.000, 0, 50 %, 100 MiB\n" for each in range(50)
)
DMON = "#Date Time gpu pwr gtemp sm mem\n#YYYYMMDD HH:MM:SS Idx W C % %\n" + " 20260301 10:00:01 0 300 60 90 40\n" * 40


def gpu_table() -> str:
    from doctor.monitors.sampler import columns

    rows = []
    for at in range(60):
        row = dict.fromkeys(columns.GPU, "") | {"t_ns": str(1_772_000_000_000_000_000 + at * 10**9), "mono_s": str(at)}
        row |= {"host": "h", "gpu": str(at % 2), "gpu_busy_pct": "50", "power_w": "300", "throttle_reasons": "none"}
        rows.append(",".join(row.values()))
    return "\n".join(["# schema doctor-gpu/1", ",".join(columns.GPU), *rows, ""])


def a_run_folder(r: random.Random, folder: Path) -> Path:
    for name in ("events", "gpu", "host", "logs", "metrics"):
        (folder / name).mkdir()
    kinds = ["start", "phase", "step", "alarm", "exception", "hang", "gpu", "monitor", "end"]
    events = [as_json(r, {**EVENT, "kind": r.choice(kinds)}).replace(b"\n", b" ") for _ in range(20)]
    (folder / "events/h-1.jsonl").write_bytes(b"\n".join([*events, b""]))
    (folder / "gpu/h.csv").write_bytes(damaged(r, gpu_table().encode()))
    (folder / "host/h.csv").write_bytes(
        damaged(r, b"time,t_ns,mono_s,host,cpu_pct\n" + b"x,1772000000000000000,1,h,50\n" * 9)
    )
    (folder / "metrics/rank0.csv").write_bytes(
        damaged(r, b"step,t_ns,name,value\n" + b"1,1772000000000000000,loss,0.5\n" * 9)
    )
    (folder / "logs/console.log").write_bytes(damaged(r, LOG.encode()))
    (folder / "run.json").write_bytes(as_json(r, {"schema": "doctor-run/1", "argv": ["a"], "exit": 1, "started_ns": 1}))
    return folder


def of_csv(r: random.Random, folder: Path) -> list[str]:
    (folder / "g.csv").write_bytes(damaged(r, r.choice([gpu_table(), SMI, DMON]).encode()))
    return ["report", str(folder / "g.csv")]


def of_folder(r: random.Random, folder: Path) -> list[str]:
    return [r.choice(["postmortem", "report"]), str(a_run_folder(r, folder))]


def of_two_folders(r: random.Random, folder: Path) -> list[str]:
    runs = [folder / "doctor-runs" / f"2026030{each}T101500Z-python" for each in (1, 2)]
    for each in runs:
        each.mkdir(parents=True)
        a_run_folder(r, each)
    return r.choice([
        ["compare", *map(str, runs)], ["report", "--compare", *map(str, runs)], ["runs"], ["last"],
        ["compare", "last", "--last-good"], ["runs", "--format", "json"],
    ])  # fmt: skip


def of_capsule(r: random.Random, folder: Path) -> list[str]:
    (folder / "c.json").write_bytes(as_json(r, CAPSULE))
    (folder / "a.log").write_text(LOG)
    return ["postmortem", "--capsule", str(folder / "c.json"), *r.choice([[], [str(folder / "a.log")]])]


def of_tracker(r: random.Random, folder: Path) -> list[str]:
    path = r.choice(trackers.WRITERS)(folder)
    for each in [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file()):
        each.write_bytes(damaged(r, each.read_bytes()))
    return [
        "postmortem",
        str(r.choice([path, folder])),
        *r.choice([[], ["--metrics-csv", "o.csv"], ["--html", "o.html"]]),
    ]


def of_checkpoint(r: random.Random, folder: Path) -> list[str]:
    place = folder / "out" / r.choice(["checkpoint-40", "global_step_40/actor"])
    place.mkdir(parents=True)
    head = as_json(r, {"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})
    (place / "model-00001-of-00002.safetensors").write_bytes(
        damaged(r, len(head).to_bytes(8, "little") + head + b"\1" * 16)
    )
    index = {"metadata": {"total_size": 16}, "weight_map": {"w": "model-00001-of-00002.safetensors"}}
    (place / "model.safetensors.index.json").write_bytes(as_json(r, index))
    state = {"global_step": 40, "log_history": [{"step": 1, "loss": 0.5}], "best_metric": None}
    (place / "trainer_state.json").write_bytes(as_json(r, state))
    (place / "adapter_config.json").write_bytes(as_json(r, {"base_model_name_or_path": "m", "r": 8}))
    (place / "model_world_size_2_rank_0.pt").write_bytes(damaged(r, b"PK\3\4" + b"\0" * 99 + b"PK\5\6" + b"\0" * 18))
    return ["checkpoint", str(folder / "out")]


def of_look(r: random.Random, folder: Path) -> list[str]:
    """What `doctor hang` left in a run folder, and what the processes of the run told of their stacks."""
    a_run_folder(r, folder)
    for name in ("hangs", "capsules", "stacks"):
        (folder / name).mkdir()
    node = {"pid": 1, "rank": 0, "host": "h", "does": "waits", "call": "all_reduce",
            "frames": [{"file": "/a/train.py", "line": 3, "function": "f"}]}  # fmt: skip
    look = {"schema": "doctor-hang/1", "processes": [node], "nodes": [node], "waits": [{"pid": 1, "for": 2}]}
    (folder / "hangs/h-1.json").write_bytes(as_json(r, look))
    (folder / "capsules/h-1.json").write_bytes(as_json(r, CAPSULE))
    (folder / "stacks/h-1.txt").write_bytes(damaged(r, TRACE.encode()))
    return [r.choice(["postmortem", "report"]), str(folder)]


MAKERS: list[Callable[[random.Random, Path], list[str]]] = [
    of_csv, of_folder, of_two_folders, of_capsule, of_tracker, of_checkpoint, of_look,
]  # fmt: skip
