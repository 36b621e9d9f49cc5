"""Gives inputs made from numbers to the commands: `program.py FIRST COUNT FOLDER`; ends with 1 where one failed."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

SECONDS = 60  # processor time of one input; real ones take a second
MEMORY_BYTES = 500 << 20
WORDS: list[object] = [
    None, True, -1, 0, 1, 1e308, float("nan"), float("inf"), 10**40, "", "x", "=cmd|' /C calc'!A0",
    "\x1b[31m\x1b]0;t\x07", "\ud800", "\0", "é" * 50, "9" * 5000, [], {},
    [[]], {"a": [1]}, "../../etc", "-1e999", "1_000", "٣",
]  # fmt: skip
TRACE = 'Traceback (most recent call last):\n  File "/a/train.py", line 3, in <module>\n    f()\n'
LOG = "".join(f"{{'loss': {each / 9}, 'reward': 0.5, 'kl': 0.1, 'epoch': {each}}}\n" for each in range(40))
LOG += f"vLLM API server version 0.8.5\n{TRACE}RuntimeError: CUDA error: out of memory\n[rank1]: {TRACE}ValueError: x\n"
ROLLOUT = {"input": "a", "output": "b", "gts": "c", "score": 1.0, "step": 1}
EXPERIENCE = {
    "eid": {"batch": 1, "task": 2, "run": 3},
    "reward": 1.0,
    "messages": [{"role": "a", "content": "b"}],
    "metrics": {},
}
EVENT = {"t_ns": 10**18, "host": "h", "pid": 1, "rank": 0, "role": "trainer", "step": 3, "kind": "alarm",
         "id": "NUM001",
         "data": {"policy": "stop", "step": 3, "text": "x", "type": "E", "traceback": TRACE}}  # fmt: skip
DS = {
    "train_batch_size": 8,
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
    "fp16": {"enabled": True},
}
YAML = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_processes: 8
deepspeed_config:
  zero_stage: 3
"""
SCRIPT = """from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(output_dir='o', num_generations=8, use_vllm=True)
GRPOTrainer(model='m', args=args, reward_funcs=[lambda completions, **k: 1]).train()
"""
SMI = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n" + "".join(
    f"2026/03/01 10:00:{each:02d}.000, 0, 50 %, 100 MiB\n" for each in range(50)
)
DMON = "#Date Time gpu pwr gtemp sm mem\n#YYYYMMDD HH:MM:SS Idx W C % %\n" + " 20260301 10:00:01 0 300 60 90 40\n" * 40
COMMANDS = [
    "accelerate launch --num_processes 8 --config_file a.yaml train.py --bf16 True",
    "torchrun --nproc_per_node 8 train.py",
    "deepspeed --hostfile h train.py --deepspeed ds.json", "python -m swift.cli._megatron.main rlhf --model x",
    "trl vllm-serve --model m --tensor_parallel_size 2", "vllm serve m -tp 8",
    "python -m verl.trainer.main_ppo a.b=1 +c=[1,2]",
    "env A=1 bash -c 'python train.py'", "srun -N 2 python train.py", "trinity run --config t.yaml",
    "python train.py --x",
]  # fmt: skip


def gpu_table() -> str:
    from doctor.monitors.sampler import columns

    rows = []
    for at in range(60):
        row = dict.fromkeys(columns.GPU, "") | {"t_ns": str(1_772_000_000_000_000_000 + at * 10**9), "mono_s": str(at)}
        row |= {"host": "h", "gpu": str(at % 2), "gpu_busy_pct": "50", "power_w": "300", "throttle_reasons": "none"}
        rows.append(",".join(row.values()))
    return "\n".join(["# schema doctor-gpu/1", ",".join(columns.GPU), *rows, ""])


def damaged(r: random.Random, data: bytes) -> bytes:
    """The bytes with one to four faults."""
    for _ in range(r.randint(0, 4)):
        lines, at = data.split(b"\n"), r.randrange(len(data) + 1)
        line, end = r.randrange(len(lines)), at + r.randrange(1, 200)
        word = r.choice(
            [b"\0" * 512, b"\x1b[2J", b"\xff\xfe", b'"', b"\r", b"[" * 20_000, b"{" * 3000, b"9" * 5000, b"\n" * 5000]
        )
        data = r.choice([
            data[:at] + bytes([r.randrange(256)]) + data[at + 1 :], data[:at] + word + data[at:],
            data[:at] + data[end:], data.replace(b"\n", b"\r\n"), data[:at], data + data,
            b"\n".join(lines[line:] + lines[:line]),
            b"\n".join([*lines[:line], lines[0], *lines[line:]]), b"\n".join(lines[1:]), data,
        ])  # fmt: skip
    return data


def twisted(r: random.Random, value: object, depth: int = 0) -> object:
    """A JSON-like value with other values in some places."""
    if r.random() < 0.12:
        return r.choice(WORDS)
    if isinstance(value, dict):
        found = {key: twisted(r, each, depth + 1) for key, each in value.items() if r.random() > 0.05}
        return found | ({str(r.choice(WORDS)): r.choice(WORDS)} if r.random() < 0.1 else {})
    if isinstance(value, list):
        return [twisted(r, each, depth + 1) for each in value] * r.choice([1, 1, 1, 2])
    return value


def as_json(r: random.Random, value: object) -> bytes:
    text = json.dumps(twisted(r, value), indent=r.choice([None, 1]))
    return damaged(r, text.encode()) if r.random() < 0.4 else text.encode()


def a_dump(r: random.Random) -> bytes:
    shared: object = ["x"]
    for _ in range(r.choice([0, 3, 60])):
        shared = [shared, shared]
    entry = {"process_group": ("0", shared), "collective_seq_id": 3, "state": "scheduled",
             "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "input_sizes": [[4]], "input_dtypes": [shared],
             "frames": [{"filename": shared, "line": 1}]}  # fmt: skip
    return damaged(r, pickle.dumps({"version": "2.4", "entries": [entry], "pg_status": {"0": {}}}, protocol=2))


def an_archive(r: random.Random, folder: Path) -> Path:
    kind = r.choice(["zip", "tar", "tar.gz", "tar.xz", "gz", "xz", "bz2"])
    content, raw = damaged(r, LOG.encode()) * r.choice([1, 1, 200]), io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(raw, "w", r.choice([0, 8, 12, 14])) as packed:
            for each in range(3):
                packed.writestr(r.choice(["a.log", f"x/{each}.log", "../b.log", "a.log/c.log"]), content)
    elif kind.startswith("tar"):
        with tarfile.open(fileobj=raw, mode="w:" + kind[4:]) as tar:  # type: ignore[call-overload]
            for each in range(3):
                member = tarfile.TarInfo(r.choice(["a.log", f"{each}/" * r.choice([1, 90]) + "a.log", "n" * 300]))
                member.size, member.type = len(content), r.choice([b"0", b"0", b"L", b"x", b"5"])
                tar.addfile(member, io.BytesIO(content))
    else:
        raw.write({"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[kind](content))
    path = folder / (f"a.{kind}" if kind.startswith(("zip", "tar")) else f"a.log.{kind}")
    path.write_bytes(damaged(r, raw.getvalue()))
    return path


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


TRL = {"name": "trl", "version": "0.14.0"}
PYTHON = {"executable": "/p", "version": "3.11.2", "path": ["/a"]}
FACTS = {
    "schema": "doctor-facts/1",
    "host": "h",
    "captured_ns": 10**18,
    "doctor_version": "0",
    "clock": {"offset_s": 0.1},
    "facts": {
        "interpreter": {"status": "ok", "value": PYTHON, "source": "probe"},
        "packages": {"status": "ok", "value": {"distributions": {"trl": TRL}, "modules": {}}},
        "gpus": {"status": "unavailable", "reason": "none"},
    },
}


def of_log(r: random.Random, folder: Path) -> list[str]:
    name = r.choice(["a.log", "a.txt", "a.json", "a.ipynb", "a.md", "a.csv", "trainer_state.json"])
    (folder / name).write_bytes(damaged(r, LOG.encode() * r.choice([1, 1, 30])))
    return ["postmortem", str(folder / name)]


def of_rollouts(r: random.Random, folder: Path) -> list[str]:
    rows = [as_json(r, r.choice([ROLLOUT, EXPERIENCE])).replace(b"\n", b" ") for _ in range(15)]
    (folder / "1.jsonl").write_bytes(b"\n".join(rows))
    return ["postmortem", str(folder)]


def of_dump(r: random.Random, folder: Path) -> list[str]:
    (folder / "nccl_trace_rank_0").write_bytes(a_dump(r))
    (folder / "nccl_trace_rank_1").write_bytes(a_dump(r))
    return ["postmortem", str(folder)]


def of_csv(r: random.Random, folder: Path) -> list[str]:
    (folder / "g.csv").write_bytes(damaged(r, r.choice([gpu_table(), SMI, DMON]).encode()))
    return ["report", str(folder / "g.csv")]


def of_facts(r: random.Random, folder: Path) -> list[str]:
    for each in range(r.choice([1, 3])):
        (folder / f"n{each}.json").write_bytes(as_json(r, FACTS))
    return ["check", "--from", str(folder / "n0.json") if r.random() < 0.5 else str(folder)]


def of_pasted(r: random.Random, folder: Path) -> list[str]:
    texts = [
        "Package Version\n------- -------\ntrl 0.14.0\n",
        "PyTorch version: 2.5.1+cu121\nIs CUDA available: True\n",
        SMI,
    ]
    (folder / "e.txt").write_bytes(damaged(r, r.choice(texts).encode()))
    return ["check", "--from", str(folder / "e.txt")]


def of_command(r: random.Random, folder: Path) -> list[str]:
    (folder / "ds.json").write_bytes(as_json(r, DS))
    (folder / "a.yaml").write_bytes(damaged(r, YAML.encode()))
    (folder / "train.py").write_bytes(damaged(r, SCRIPT.encode()))
    words = r.choice(COMMANDS).split()
    if r.random() < 0.5:
        words.insert(
            r.randrange(len(words) + 1),
            r.choice(["--", "-m", "=", "--deepspeed", "\x1b[31m", "x=", "--num_processes=-1", "9" * 999, "'"]),
        )
    if r.random() < 0.2:
        del words[r.randrange(len(words))]
    (folder / "facts.json").write_text(json.dumps(FACTS))
    return ["check", "--from", str(folder / "facts.json"), "--", *words]


def of_report(r: random.Random, folder: Path) -> list[str]:
    state = Path(os.environ["XDG_STATE_HOME"]) / "grpo-doctor"
    shutil.rmtree(state, ignore_errors=True)
    from doctor.base.state import state_folder

    kept = state_folder(folder) / "check.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(
        as_json(
            r,
            {
                "schema": "doctor/1",
                "findings": [{"id": "TRL2205/unknown", "where": {}, "remedy": {"fix": "TRL2205/unknown"}}],
            },
        )
    )
    return ["fix"]


def of_folder(r: random.Random, folder: Path) -> list[str]:
    return [r.choice(["postmortem", "report"]), str(a_run_folder(r, folder))]


MAKERS: list[Callable[[random.Random, Path], list[str]]] = [
    of_log, of_rollouts, of_dump, of_csv, of_facts, of_pasted, of_command, of_report, of_folder,
    lambda r, folder: ["postmortem", str(an_archive(r, folder))],
]  # fmt: skip


def tried(seed: int, folder: Path) -> str:
    """What went wrong with the input of a number, "" where nothing did."""
    from click.testing import CliRunner

    from doctor.cli.app import app

    r = random.Random(seed)  # noqa: S311 - a number must make the same input again
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    argv = MAKERS[seed % len(MAKERS)](r, folder)
    if argv[0] != "fix":
        at = argv.index("--") if "--" in argv else len(argv)
        argv[at:at] = r.choice([[], ["--format", "json"], ["--lang", "zh"], ["--verbose"]])
    if os.environ.get("DOCTOR_FUZZ_FAULT"):
        app.get_command = lambda *_: 1 // 0  # type: ignore[method-assign]
    began = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 2 * SECONDS)
    done = CliRunner().invoke(app, argv)
    signal.setitimer(signal.ITIMER_REAL, 0)
    told = f"seed {seed}: doctor {' '.join(argv)[:300]!r}: "
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return told + "".join(traceback.format_exception(*(done.exc_info or (None, None, None))))[-2500:]
    if "This is a bug in the doctor" in done.output or "是 doctor 自身的缺陷" in done.output:
        return told + done.output[-2500:]
    if (peak := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) > MEMORY_BYTES:
        return f"{told}{peak >> 20} MB"
    spent = time.process_time() - began
    return f"{told}{spent:.0f} s" if spent > SECONDS else ""


def _too_late(_number: int, _frame: object) -> None:
    raise TimeoutError("it took too long")


def main() -> int:
    """Try them all; say what failed."""
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    signal.signal(signal.SIGALRM, _too_late)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # of addresses, which libraries reserve and do not use
    os.environ.update(XDG_STATE_HOME=str(folder / "state"), HOME=str(folder), COLUMNS="100")
    failed = [said for seed in range(first, first + count) if (said := tried(seed, folder / "input"))]
    print("\n\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
