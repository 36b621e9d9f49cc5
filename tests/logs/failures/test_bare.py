"""Exceptions whose words say nothing, told by frames and by what was going on; sentences of waits that had their time."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.failures.timeouts import TimedOut, read, slow_work
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

SAID, UNKNOWN = "LCH8772", "UNK00"
HEAD = "Traceback (most recent call last):\n"


def frame(path: str, function: str, code: str) -> str:
    return f'  File "{path}", line 12, in {function}\n    {code}\n'


SITE = "/opt/venv/lib/python3.12/site-packages"
LORA = (
    frame(f"{SITE}/vllm/lora/layers/logits_processor.py", "forward", "raise NotImplementedError")
    + "NotImplementedError\n"
)
#: https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/scheduler_update_weights_mixin.py
IDLE = (
    frame("/x/sglang/python/sglang/srt/managers/scheduler.py", "loop", "output = self._dispatcher(recv_req)")
    + frame("/x/sglang/python/sglang/srt/managers/mixin.py", "release_memory", "assert self.is_fully_idle()")
    + "AssertionError\n"
)
RUNNING = "[2026-04-28 14:02:51 TP0] Decode batch. #running-req: 37, #token: 81542, token usage: 0.41, #queue-req: 0\n"
COPY = (
    frame("/root/miles/miles/backends/megatron_utils/actor.py", "update_weights", "self.connect()")
    + frame(f"{SITE}/torch/distributed/distributed_c10d.py", "_object_to_tensor", "t = torch.ByteTensor(s).to(device)")
    + "torch.AcceleratorError: CUDA error: invalid argument\n"
)
CANCELLED = (
    frame("/w/verl/verl/experimental/rollouter.py", "_processor_worker", "await task")
    + "ray.exceptions.TaskCancelledError: Task: TaskID(8f1c2a0d5e7b) was cancelled.\n"
    + "ray.exceptions.RayTaskError(TaskCancelledError): ray::Rollouter.fit() (pid=29984)\n"
)
PAUSE = "(Rollouter pid=29984) [Rollouter] pause: cancel 24 tasks in flight\n"


def first(tmp_path: Path, text: str, context: str = "") -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    outcome = examine([str(tmp_path / "train.log")], context=told, prepared=prepared_once()).diagnosis.outcome
    assert not outcome.crashed
    return outcome.findings[0]


@pytest.mark.parametrize(
    ("text", "context", "told"),
    [
        (HEAD + LORA, "vllm serve m --tensor-parallel-size 2 --enable-lora", "`vllm` refuses in `forward` (`enable_lora=True`)"),
        (RUNNING + HEAD + IDLE, "", "`sglang` refuses in `release_memory`: `self.is_fully_idle()` does not hold"),
        (HEAD + COPY, "python train.py --offload-train", "memory may be asleep or offloaded (`--offload-train`)"),
        (PAUSE + HEAD + CANCELLED, "", "A task that the program itself cancelled is awaited: [Rollouter] pause: cancel 24"),
    ],
)  # fmt: skip
def test_what_frames_and_the_lines_before_tell(tmp_path: Path, text: str, context: str, told: str) -> None:
    finding = first(tmp_path, text, context)
    assert (finding.problem.id, str(finding.confidence.value)) == (SAID, "likely")
    assert told in finding.words().headline


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (HEAD + LORA, "vllm serve m --tensor-parallel-size 2"),
        (HEAD + LORA.replace("logits_processor.py", "l.py").replace("/lora/", "/l/"), "vllm serve m --enable-lora"),
        (RUNNING.replace("37", "0") + HEAD + IDLE, ""),
        (HEAD + CANCELLED, ""),
    ],
)
def test_where_nothing_speaks_of_it_nothing_is_said(tmp_path: Path, text: str, context: str) -> None:
    assert first(tmp_path, text, context).problem.id.startswith(UNKNOWN)


@pytest.mark.parametrize("context", ["python train.py", "python train.py  # no --offload-train here"])
def test_memory_that_is_given_away_needs_a_setting_that_is_on(tmp_path: Path, context: str) -> None:
    assert "asleep" not in first(tmp_path, HEAD + COPY, context).words().headline


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # https://github.com/vllm-project/vllm/blob/main/vllm/envs.py
        ("Engine core did not become ready within 600 s. Set VLLM_ENGINE_READY_TIMEOUT_S to a larger value",
         TimedOut("Engine core", 600, "VLLM_ENGINE_READY_TIMEOUT_S")),
        ("Timed out after 1801 seconds waiting for clients. 1/2 clients joined.", TimedOut("clients", 1801)),
        ("Request to reward server timed out after 30000 ms", TimedOut("Request to reward server", 30)),
        ("ray.get timed out while waiting for rollout results", TimedOut("rollout results", None)),
        ("No heartbeat from worker 3 for 2 minutes; raise `heartbeat_timeout`", TimedOut("worker 3", 120, "heartbeat_timeout")),
        ("step 3 did not improve after 5 minutes", None),
        ("timeout=1800 set", None),
        ("Saved the checkpoint within 30 s", None),
    ],
)  # fmt: skip
def test_sentences_of_waits(text: str, told: TimedOut | None) -> None:
    assert read(text) == told


def test_a_longer_limit_is_the_remedy_only_of_what_is_known_to_be_slow(tmp_path: Path) -> None:
    """https://github.com/ray-project/ray/blob/master/python/ray/train/v2/_internal/constants.py"""
    text = "10:00:30 The worker group startup timed out after 30.0 seconds waiting for 8 workers. Set RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S\n"
    silent = first(tmp_path, text).words()
    assert silent.headline == "The program stopped waiting after 30 s for: 8 workers"
    assert "First look at what is waited for" in silent.remedy
    slow = first(tmp_path, text, "runtime_env with torch and mlflow").words()
    assert slow.remedy.startswith("If it is still at that work")
    assert "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S" in slow.remedy
    assert slow_work("nothing of the kind") == ""
