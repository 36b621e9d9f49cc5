"""Exceptions out of interleaved lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.case import Builder, Case
from doctor.logs.context import Given
from doctor.logs.exits import exits_of, signal_of
from doctor.logs.layouts import Source
from doctor.logs.lines import Line
from doctor.logs.tracebacks import Frame

SAMPLES = Path(__file__).parent.parent / "postmortem"
HEADER = "Traceback (most recent call last):"


def _case(text: str) -> Case:
    builder = Builder(Given(), 2026)
    builder.add(Source("x.log"), enumerate(text.strip("\n").split("\n"), 1))
    return builder.finish()


def _told(text: str) -> list[tuple[str, list[str], str]]:
    """(process, types in causal order, type of the cause) of every failure."""
    return [(each.process, [raised.name for raised in each.chain], each.cause.name) for each in _case(text).failures]


def test_interleaved_ranks() -> None:
    text = f"""
[rank1]: {HEADER}
[rank0]: {HEADER}
[rank1]:   File "/home/user/train.py", line 3, in main
[rank0]:   File "/home/user/train.py", line 9, in main
[rank1]:     step()
[rank0]:     gather()
[rank1]: ValueError: first
[rank0]: RuntimeError: second
"""
    assert _told(text) == [("rank 1", ["ValueError"], "ValueError"), ("rank 0", ["RuntimeError"], "RuntimeError")]
    frame = _case(text).failures[0].cause.frames[0]
    assert (frame.line, frame.function, frame.code, frame.own) == (3, "main", "step()", True)


def test_direct_cause_is_the_earliest_link() -> None:
    text = f"""
{HEADER}
  File "/home/user/a.py", line 1, in f
ConnectionError: no route

The above exception was the direct cause of the following exception:

{HEADER}
  File "/home/user/a.py", line 2, in g
OSError: cannot load the model
"""
    assert _told(text) == [("", ["ConnectionError", "OSError"], "ConnectionError")]


def test_a_probe_gives_way_to_the_exception_that_words_it() -> None:
    text = f"""
{HEADER}
  File "/home/user/venv/lib/python3.11/site-packages/transformers/auto.py", line 1, in f
KeyError: 'qwen9'

During handling of the above exception, another exception occurred:

{HEADER}
  File "/home/user/a.py", line 2, in g
ValueError: the checkpoint has a model type that this version does not know
"""
    assert _told(text) == [("", ["KeyError", "ValueError"], "ValueError")]


def test_ray_task_error_gives_the_remote_exception_first() -> None:
    text = f"""
{HEADER}
  File "/home/user/main.py", line 17, in <module>
    ray.get(task.remote())
ray.exceptions.RayTaskError(ValueError): ray::main_task() (pid=16924, ip=192.0.2.2)
  File "/home/user/main.py", line 14, in main_task
    run()
ValueError: remote
"""
    assert _told(text) == [("", ["ValueError", "RayTaskError"], "ValueError")]


def test_data_loader_worker_gives_the_original_first() -> None:
    text = f"""
{HEADER}
  File "/home/user/train.py", line 1, in <module>
KeyError: Caught KeyError in DataLoader worker process 0.
Original {HEADER}
  File "/home/user/data.py", line 5, in __getitem__
KeyError: 'answer'
"""
    failure = _case(text).failures[0]
    assert [raised.message for raised in failure.chain] == [
        "'answer'",
        "Caught KeyError in DataLoader worker process 0.",
    ]
    assert failure.cause.frames[-1].path == "/home/user/data.py"


def test_remote_traceback_of_a_pool() -> None:
    text = f'''
multiprocessing.pool.RemoteTraceback: 
"""
{HEADER}
  File "/home/user/data.py", line 5, in f
ValueError: inner
"""

The above exception was the direct cause of the following exception:

{HEADER}
  File "/home/user/train.py", line 1, in <module>
ValueError: inner
'''
    assert _case(text).failures[0].cause.frames[-1].path == "/home/user/data.py"


def test_destructors_and_warnings_are_no_failures() -> None:
    text = f"""
Exception ignored in: <function Executor.__del__ at 0x7f2cccf636a0>
{HEADER}
  File "/home/user/a.py", line 2, in __del__
AttributeError: 'NoneType' object has no attribute 'x'
WARNING 11-20 16:10:28 [a.py:1] {HEADER}
WARNING 11-20 16:10:28 [a.py:1]   File "/home/user/a.py", line 2, in f
WARNING 11-20 16:10:28 [a.py:1] ImportError: no flash
"""
    assert [(each.noise, each.handled) for each in _case(text).failures] == [(True, False), (False, True)]


def test_cpp_fatal_and_bare() -> None:
    text = """
terminate called after throwing an instance of 'c10::Error'
  what():  CUDA error: out of range
Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/home/user/a.py", line 5 in f
  File "/home/user/a.py", line 9 in <module>

torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""
    kinds = [(each.cause.kind, each.cause.type) for each in _case(text).failures]
    assert kinds == [("c++", "c10::Error"), ("fatal", "Fatal Python error"), ("bare", "torch.OutOfMemoryError")]
    assert _case(text).failures[1].cause.frames[-1].line == 5


def test_a_log_shown_newest_first_is_read_in_order_of_time() -> None:
    lines = [HEADER, '  File "/home/user/a.py", line 2, in f', "ValueError: x", "a", "b", "c", "d"]
    stamped = [f"2025-04-05T00:01:{second:02d}Z {text}" for second, text in enumerate(lines)]
    failure = _case("\n".join(reversed(stamped))).failures[0]
    assert (failure.cause.name, failure.cause.line.number, failure.covers(0, 6)) == ("ValueError", 5, True)


def test_elastic_table_gives_exits_and_tracebacks_to_their_ranks() -> None:
    text = f"""
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-20_15:06:44
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 6890)  (SIGTERM)
  traceback : Signal 15 (SIGTERM) received by PID 6890
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 6891)
  traceback : {HEADER}
    File "/home/user/train.py", line 10, in main
      raise RuntimeError("boom")
  RuntimeError: boom

============================================================
"""
    case = _case(text)
    assert [(each.rank, each.code, each.signal, each.root, each.by_launcher) for each in case.exits] == [
        (0, -15, "SIGTERM", False, True), (1, 1, "", True, False),
    ]  # fmt: skip
    assert ("rank 1", "RuntimeError") in [(each.process, each.cause.name) for each in case.failures]


@pytest.mark.parametrize(
    ("code", "name"),
    [(137, "SIGKILL"), (-9, "SIGKILL"), (139, "SIGSEGV"), (134, "SIGABRT"), (143, "SIGTERM"), (135, "SIGBUS"),
     (136, "SIGFPE"), (1, ""), (255, ""), (None, "")],
)  # fmt: skip
def test_exit_codes(code: int | None, name: str) -> None:
    assert signal_of(code) == name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("srun: error: node-7: tasks 0,3-4: Killed", [(0, "SIGKILL", ""), (3, "SIGKILL", ""), (4, "SIGKILL", "")]),
        ("srun: error: node-7: task 2: Out Of Memory", [(2, "SIGKILL", "out of memory")]),
        ("slurmstepd: error: *** STEP 88.0 ON gpu-1 CANCELLED AT 2025-04-07T22:14:05 DUE TO TIME LIMIT ***",
         [(None, "SIGTERM", "time limit")]),
        ("./run.sh: line 48:    28 Killed                  python3 train.py", [(None, "SIGKILL", "")]),
        ("Memory cgroup out of memory: Killed process 4242 (python)", [(None, "SIGKILL", "out of memory")]),
        ("RuntimeError: DataLoader worker (pid 47) is killed by signal: Bus error. It is possible", [(None, "SIGBUS", "")]),
        ("trainer-1 exited with code 137", [(None, "SIGKILL", "")]),
        ("trainer-1 exited with code 0", []),
        ("Killed", [(None, "SIGKILL", "")]),
        ("Killed 3 of 4 candidates by length", []),
    ],
)  # fmt: skip
def test_ends_as_others_report_them(text: str, told: list[tuple[int | None, str, str]]) -> None:
    assert [(each.rank, each.signal, each.reason) for each in exits_of(Line(text, "", None, None, "x", 1))] == told


@pytest.mark.parametrize(
    ("path", "package", "own"),
    [
        ("/home/user/venv/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", "trl", False),
        ("/home/user/.pyenv/versions/3.11.7/lib/python3.11/contextlib.py", "", False),
        ("/home/user/src/verl/workers/fsdp_workers.py", "verl", False),
        ("/home/user/venv/bin/vllm", "", False),
        ("<frozen runpy>", "", False),
        ("/home/user/project/train.py", "", True),
    ],
)
def test_whose_code_a_frame_is(path: str, package: str, own: bool) -> None:
    frame = Frame(path, 1, "f")
    assert (frame.package, frame.own) == (package, own)
