"""One failure poured into every layout in which logs arrive: the answer is the same."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
#: rank 1 fails by itself; rank 0 loses it half a minute later
FAILED = """Traceback (most recent call last):
  File "/home/user/project/train.py", line 40, in <module>
    trainer.train()
  File "/home/user/venv/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", line 1201, in _calculate_rewards
    raise ValueError(
ValueError: The reward function 'length' returned 3 rewards, but 4 were expected
""".splitlines()
LOST = """Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4635, in all_gather
    work.wait()
torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote process exited or there was a network error
ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
""".splitlines()
RANKS = ((0, ["rank 0 is up"]), (1, ["rank 1 is up", *FAILED]), (0, LOST))
Pour = Callable[[Path], str]


def _lines(head: Callable[[int], str]) -> list[str]:
    return [f"{head(rank)}{text}" for rank, texts in RANKS for text in texts]


def _file(folder: Path, lines: list[str], name: str = "train.log", encoding: str = "utf-8", end: str = "\n") -> str:
    (folder / name).write_bytes((end.join(lines) + end).encode(encoding))
    return str(folder / name)


def _of(rank: int) -> list[str]:
    return [text for each, texts in RANKS for text in texts if each == rank]


def _files(folder: Path, name: str) -> str:
    for rank in (0, 1):
        path = folder / name.format(rank=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(_of(rank)) + "\n")
    return str(folder)


def _interleaved(first: list[str], second: list[str]) -> Iterator[str]:
    for number in range(max(len(first), len(second))):
        yield from (each[number] for each in (first, second) if number < len(each))


def _stamp(number: int) -> str:
    return f"2026-11-20T15:06:{number:02d}.000000000Z"


def _docker(folder: Path) -> str:
    rows = [
        {"log": f"[rank{rank}]: {text}\n", "stream": "stderr", "time": _stamp(number)}
        for number, (rank, text) in enumerate((rank, text) for rank, texts in RANKS for text in texts)
    ]
    return _file(folder, [json.dumps(each) for each in rows], "container-json.log")


def _kubernetes(folder: Path) -> str:
    lines = _lines(lambda rank: f"[rank{rank}]: ")
    return _file(folder, [f"{_stamp(number)} stderr F {text}" for number, text in enumerate(lines)])


def _compose(folder: Path) -> str:
    return _file(folder, _lines(lambda rank: f"trainer-{rank}  | [rank{rank}]: "))


def _markdown(folder: Path) -> str:
    head = ["### Describe the bug", "It stops after a while.", "```shell"]
    return _file(folder, [*head, *_lines(lambda rank: f"[rank{rank}]: "), "```", "Any idea?"], "issue.md")


def _with_a_bar(folder: Path) -> str:
    bar = "\r".join(f"  {n}%|#         | {n}/100 [00:0{n}<01:00,  1.5it/s]" for n in range(1, 6))
    return _file(folder, [bar, *_lines(lambda rank: f"\x1b[31m[rank{rank}]:\x1b[0m ")])


def _packed(pack: Callable[[bytes], bytes], name: str) -> Pour:
    def pour(folder: Path) -> str:
        (folder / name).write_bytes(pack("\n".join(_lines(lambda rank: f"[rank{rank}]: ")).encode() + b"\n"))
        return str(folder / name)

    return pour


def _prefixed(head: str) -> Pour:
    return lambda folder: _file(folder, _lines(lambda rank: head.format(rank=rank)))


TOLD: dict[str, Pour] = {
    "torch": _prefixed("[rank{rank}]: "),
    "tee": _prefixed("[default{rank}]:"),
    "srun label": _prefixed("{rank}: "),
    "srun label and torch": _prefixed("{rank}: [rank{rank}]: "),
    "vllm": _prefixed("(VllmWorker rank={rank} pid=4746{rank}) "),
    "quoted": _prefixed("> [rank{rank}]: "),
    "journal": _prefixed("Nov 20 15:06:52 node7 train[4211]: [rank{rank}]: "),
    "interleaved": lambda folder: _file(
        folder, list(_interleaved([f"[rank0]: {each}" for each in _of(0)], [f"[rank1]: {each}" for each in _of(1)]))
    ),
    "torchrun tree": lambda folder: _files(folder, "none_ab12/attempt_0/{rank}/stderr.log"),
    "slurm": lambda folder: _files(folder, "train-881204-{rank}.out"),
    "file a rank": lambda folder: _files(folder, "rank_{rank}.log"),
    "run folder": lambda folder: _files(folder, "logs/rank{rank}.log"),
    "docker": _docker,
    "kubernetes": _kubernetes,
    "compose": _compose,
    "markdown": _markdown,
    "colours and a bar": _with_a_bar,
    "windows": lambda folder: _file(folder, _lines(lambda rank: f"[rank{rank}]: "), end="\r\n"),
    "utf-16": lambda folder: _file(folder, _lines(lambda rank: f"[rank{rank}]: "), encoding="utf-16"),
    "gbk": lambda folder: _file(
        folder, ["模型加载完成,开始训练", *_lines(lambda rank: f"[rank{rank}]: ")], encoding="gbk"
    ),
    "gz": _packed(gzip.compress, "train.log.gz"),
    "xz": _packed(lzma.compress, "train.log.xz"),
}
UNTOLD: dict[str, Pour] = {
    "one after the other": _prefixed(""),
    "ray": _prefixed("(WorkerDict pid=90{rank}, ip=10.0.0.{rank}) "),
    "ray main": _prefixed("(main_task pid=90{rank}) "),
    "ray session": lambda folder: _files(folder, "logs/worker-" + "ab" * 28 + "-01000000-3148{rank}.err"),
    "trinity": lambda folder: _files(folder, "log/actor_{rank}_x.log"),
}


def _first(path: str) -> tuple[str, int | None, str]:
    result = examine([path], prepared=PREPARED)
    finding = result.diagnosis.outcome.findings[0]
    return finding.problem.id, finding.where.rank, finding.role.value


@pytest.mark.parametrize("layout", TOLD)
def test_the_cause_and_its_rank(tmp_path: Path, layout: str) -> None:
    assert _first(TOLD[layout](tmp_path)) == ("DAT013", 1, "cause")


@pytest.mark.parametrize("layout", UNTOLD)
def test_the_cause_where_nothing_tells_ranks(tmp_path: Path, layout: str) -> None:
    problem, _, role = _first(UNTOLD[layout](tmp_path))
    assert (problem, role) == ("DAT013", "cause")


#: how the end of a process is reported, and what it is called
ENDS = (
    ("failed (exitcode: -9) local_rank: 1 (pid: 7015) of binary: /usr/bin/python", "LCH018"),
    ("[2026-11-20 15:06:52,903] [ERROR] [launch.py:325:sigkill_handler] ['python', 'a.py'] exits with return code = -9",
     "LCH018"),
    ("Memory cgroup out of memory: Killed process 202779 (python) total-vm:1098600352kB, anon-rss:973539196kB", "MEM017"),
    ("slurmstepd: error: Detected 1 oom_kill event in StepId=113.0. Some of the step tasks have been OOM Killed.", "MEM017"),
    ("    reason: OOMKilled", "MEM017"),
)  # fmt: skip
SIGNALS = ((-11, "SIGSEGV"), (-6, "SIGABRT"), (-7, "SIGBUS"), (-15, "SIGTERM"))


@pytest.mark.parametrize(("line", "problem"), ENDS)
def test_kills_as_they_are_reported(tmp_path: Path, line: str, problem: str) -> None:
    assert _first(_file(tmp_path, [line]))[0] == problem


@pytest.mark.parametrize(("code", "signal"), SIGNALS)
def test_other_signals_are_decoded(tmp_path: Path, code: int, signal: str) -> None:
    line = f"failed (exitcode: {code}) local_rank: 3 (pid: 7015) of binary: /usr/bin/python"
    result = examine([_file(tmp_path, [line])], prepared=PREPARED)
    finding = result.diagnosis.outcome.findings[0]
    assert finding.problem.id == "UNK002"
    assert signal in finding.words("en").headline


def test_a_kill_of_the_kernel_is_the_cause_of_what_the_launcher_reports(tmp_path: Path) -> None:
    result = examine([_file(tmp_path, [ENDS[0][0], ENDS[2][0]])], prepared=PREPARED)
    told = [(each.problem.id, each.role.value) for each in result.diagnosis.outcome.findings]
    assert told == [("MEM017", "cause"), ("LCH018", "symptom")]
