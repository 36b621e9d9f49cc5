"""Exceptions out of interleaved lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.failures.case import Builder, Case, completed
from doctor.logs.failures.frames import Frame
from doctor.logs.lines.exits import exits_of, signal_of
from doctor.logs.lines.lines import Line
from doctor.logs.read.context import Given
from doctor.logs.read.layouts import LogSource

SAMPLES = Path(__file__).parent.parent.parent / "postmortem"
HEADER = "Traceback (most recent call last):"


def _case(text: str) -> Case:
    builder = Builder(Given(), 2026)
    builder.add(LogSource("x.log"), enumerate(text.strip("\n").split("\n"), 1))
    return completed(builder.close())


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


def test_a_fatal_error_has_the_frames_of_the_current_thread() -> None:
    text = """
Fatal Python error: Segmentation fault

Thread 0x00007e (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 355 in wait
  File "/usr/lib/python3.12/threading.py", line 655 in wait

Current thread 0x00007f (most recent call first):
  File "/home/user/a.py", line 5 in f
  File "/home/user/a.py", line 9 in <module>

Thread 0x000080 (most recent call first):
  File "/usr/lib/python3.12/selectors.py", line 415 in select
"""
    assert [each.line for each in _case(text).failures[0].cause.frames] == [9, 5]


def test_the_stack_in_c_of_python_3_14_takes_no_frames_away() -> None:
    text = """
Fatal Python error: Segmentation fault

Current thread 0x00007f [python] (most recent call first):
  File "/home/user/a.py", line 5 in f
  File "/home/user/a.py", line 9 in <module>

Current thread's C stack trace (most recent call first):
  <cannot get C stack on this system>

Extension modules: numpy._core._multiarray_umath (total: 1)
"""
    assert [each.line for each in _case(text).failures[0].cause.frames] == [9, 5]


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
        (" 50%|#####     | 466/932 [01:12<01:12,  6.42it/s]slurmstepd: error: *** JOB 7 ON g-1 CANCELLED AT 2025-11-29T06:19 ***",
         [(None, "SIGTERM", "cancelled")]),
        ("slurmstepd-gpu-1: error: *** STEP 13.0 ON gpu-1 CANCELLED AT 2026-04-03T16:13:10 ***",
         [(None, "SIGTERM", "cancelled")]),
        ("./run.sh: line 48:    28 Killed                  python3 train.py", [(None, "SIGKILL", "")]),
        ("Memory cgroup out of memory: Killed process 4242 (python)", [(None, "SIGKILL", "out of memory")]),
        ("RuntimeError: DataLoader worker (pid 47) is killed by signal: Bus error. It is possible", [(None, "SIGBUS", "")]),
        ("trainer-1 exited with code 137", [(None, "SIGKILL", "")]),
        ("trainer-1 exited with code 0", []),
        ("ERROR:composer.cli.launcher:Rank 0 crashed with exit code -11.", [(0, "SIGSEGV", "")]),
        ("Killed", [(None, "SIGKILL", "")]),
        ("run.sh：行 12: 81231 已杀死               python train.py", [(None, "SIGKILL", "")]),
        ("段错误 (核心已转储)", [(None, "SIGSEGV", "")]),
        ("已终止的任务共 3 个", []),
        ("Killed 3 of 4 candidates by length", []),
    ],
)  # fmt: skip
def test_ends_as_others_report_them(text: str, told: list[tuple[int | None, str, str]]) -> None:
    assert [(each.rank, each.signal, each.reason) for each in exits_of(Line(text, "", None, None, "x", 1))] == told


@pytest.mark.parametrize(
    ("path", "package", "own"),
    [
        ("/home/user/venv/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", "trl", False),
        ("/storage/AReaL/areal/utils/http.py", "areal", False),
        ("/home/user/areal/reward.py", "", True),
        ("areal/engine/fsdp_utils/parallel.py", "areal", False),
        ("/workspace/miles/miles/utils/seqlen_balancing.py", "miles", False),
        ("/root/ms-swift/swift/utils/torch_utils.py", "swift", False),
        ("miles/rewards.py", "", True),
        ("/vllm-workspace/vllm-ascend/vllm_ascend/worker/model_runner_v1.py", "vllm_ascend", False),
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


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/root/envs/verl/lib/python3.10/site-packages/ray/worker.py", "/lib/python3.10/site-packages/ray/worker.py:f"),
        ("/root/envs/slime/lib/python3.12/asyncio/runners.py", "/lib/python3.12/asyncio/runners.py:f"),
        ("/home/user/verl/verl/trainer/main_ppo.py", "/home/user/verl/verl/trainer/main_ppo.py:f"),
    ],
)
def test_what_signatures_ask_of_a_frame_does_not_hold_the_environments_name(path: str, key: str) -> None:
    assert Frame(path, 1, "f").key == key


def test_a_paste_without_its_header_keeps_its_frames() -> None:
    text = """
  File "/home/user/train.py", line 9, in main
    trainer.train()
  File "/opt/env/lib/python3.10/site-packages/trl/trainer/utils.py", line 471, in __call__
    prompt = feature["prompt"]
KeyError: 'prompt'
"""
    cause = _case(text).failures[0].cause
    assert (cause.name, [each.line for each in cause.frames]) == ("KeyError", [9, 471])


def test_a_paste_that_lost_its_indentation() -> None:
    text = """
[rank0]: File "/home/user/a.py", line 163, in step
[rank0]: self.ds_opt_adam.adam_update(self.opt_id)
[rank0]: RuntimeError: tensor does not have a device
"""
    cause = _case(text).failures[0].cause
    assert (cause.name, cause.frames[0].code) == ("RuntimeError", "self.ds_opt_adam.adam_update(self.opt_id)")


def test_a_stack_without_an_exception_is_no_failure() -> None:
    text = """
Stack (most recent call last):
  File "/home/user/a.py", line 1, in main
    log.info("x", stack_info=True)
Training: starts now
Step: 1
"""
    assert _told(text) == []


NOTEBOOK = """
ValueError                                Traceback (most recent call last)
Cell In[15], line 5
      2 trainer.save_model("out")
----> 5 model = AutoPeftModelForCausalLM.from_pretrained(
      6     "out",

File ~/miniconda/lib/python3.9/site-packages/peft/auto.py:100, in _BaseAutoPeftModel.from_pretrained(cls, config)
     98     target_class = getattr(parent_library, base_model_class)
--> 100     raise ValueError(
    101     "no class"

ValueError: no class
"""
COLAB = """
ImportError                               Traceback (most recent call last)
[/tmp/ipython-input-3-3770.py](https://localhost:8080/#) in <cell line: 0>()
----> 1 from unsloth import FastModel
      2 import torch

5 frames
[/usr/local/lib/python3.11/dist-packages/unsloth_zoo/dataset_utils.py](https://localhost:8080/#) in <module>
    479 from datasets import (Dataset, IterableDataset,)
--> 480 from trl.trainer.utils import ConstantLengthDataset

ImportError: cannot import name 'ConstantLengthDataset' from 'trl.trainer.utils'
"""


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        (NOTEBOOK, [("Cell In[15]", 5, ""), ("auto.py", 100, "peft")]),
        (COLAB, [("ipython-input-3-3770.py", 1, ""), ("dataset_utils.py", 480, "unsloth_zoo")]),
    ],
)
def test_tracebacks_of_notebooks(text: str, frames: list[tuple[str, int, str]]) -> None:
    cause = _case(text).failures[0].cause
    assert [(Path(each.path).name, each.line, each.package) for each in cause.frames] == frames
    assert cause.frames[-1].code
    assert cause.frames[0].own


def test_a_message_of_several_paragraphs_does_not_end_a_chain() -> None:
    text = f"""
{HEADER}
  File "/opt/lib/python3.10/site-packages/requests/models.py", line 943, in raise_for_status
    raise HTTPError(http_error_msg, response=self)
requests.exceptions.HTTPError: 404 Client Error

Entry not there for the address.

During handling of the above exception, another exception occurred:

{HEADER}
  File "/home/user/merge.py", line 36, in <module>
ValueError: no adapter
"""
    assert _told(text) == [("", ["HTTPError", "ValueError"], "HTTPError")]


def test_the_end_of_a_thread_is_told_from_the_end_of_the_process() -> None:
    text = f"""
Exception in thread Thread-5:
{HEADER}
  File "/home/user/a.py", line 1, in run
ImportError: IPython
{HEADER}
  File "/home/user/a.py", line 2, in main
ValueError: this one
"""
    assert [(each.cause.name, each.thread) for each in _case(text).failures] == [
        ("ImportError", True),
        ("ValueError", False),
    ]


def test_small_exceptions_of_the_standard_library() -> None:
    text = f"""
{HEADER}
  File "/opt/lib/python3.10/socket.py", line 955, in getaddrinfo
socket.gaierror: [Errno -2] Name or service not known
"""
    assert _told(text) == [("", ["gaierror"], "gaierror")]


def test_an_indented_traceback_as_pip_quotes_it() -> None:
    text = f"""
  ╰─> [6 lines of output]
      {HEADER}
        File "/home/user/pkg/setup.py", line 12, in <module>
          from torch.utils import cpp_extension
      OSError: no such thing
        and why

      During handling of the above exception, another exception occurred:

      {HEADER}
        File "<string>", line 2, in <module>
      ModuleNotFoundError: No module named 'torch'
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
"""
    (failure,) = _case(text).failures
    assert [(each.type, each.message) for each in failure.chain] == [
        ("OSError", "no such thing\n  and why"),
        ("ModuleNotFoundError", "No module named 'torch'"),
    ]
    assert failure.cause.frames[0].code == "from torch.utils import cpp_extension"


def test_links_that_were_never_raised_have_no_traceback() -> None:
    because = "The above exception was the direct cause of the following exception:"
    text = f"""
{HEADER}
  File "/home/user/a.py", line 1, in f
ConnectionRefusedError: [Errno 111] Connection refused

{because}

httpx.ConnectError: [Errno 111] Connection refused

{because}

{HEADER}
  File "/home/user/a.py", line 2, in g
OSError: cannot load the model
"""
    assert [types for _, types, _ in _told(text)] == [["ConnectionRefusedError", "ConnectError", "OSError"]]


@pytest.mark.parametrize(
    ("before", "caught"),
    [
        ("2026-11-20 10:00:00,123 - WARNING - reward failed", "W"),
        ("ERROR:    Exception in ASGI application", "E"),
        ("2026-11-20 10:00:00,123 - WARNING - Exception in verify for <think>\n" + "so\n" * 40 + "</think>", "W"),
        ("2026-11-20 10:00:00,123 - WARNING - reward failed\none\ntwo\nthree", ""),  # too far
        ("2026-11-20 10:00:00,123 - INFO - loading", ""),
        ("reward failed", ""),
    ],
)
def test_what_a_program_logs_it_caught(before: str, caught: str) -> None:
    text = f'{before}\n{HEADER}\n  File "/home/user/a.py", line 1, in f\nKeyError: 1\n'
    assert [each.caught for each in _case(text).failures] == [caught]
    again = f'{text}{HEADER}\n  File "/home/user/a.py", line 2, in g\nKeyError: 2\n'
    assert [each.caught for each in _case(again).failures] == [caught, ""]


@pytest.mark.parametrize(
    "text",
    [
        f'Task exception was never retrieved\nfuture: <Task finished>\n{HEADER}\n  File "a.py", line 1, in f\nKeyError: 1',
        f'{HEADER}\n  File "/usr/lib/python3.11/multiprocessing/queues.py", line 264, in _feed\nTypeError: cannot pickle',
    ],
)
def test_failures_of_side_threads_and_tasks(text: str) -> None:
    assert [each.thread for each in _case(text).failures] == [True]
