"""Who waits for whom among Ray's actors: by events of tasks that a store answers with, and by what is made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.hang import ray_state
from doctor.hang.asked import HOOK, Answer, ThreadStack
from doctor.hang.ray_state import RayTask, tasks, waits_in_ray
from doctor.hang.waits import Seen
from doctor.mend.processes.table import RunningProcess
from doctor.monitors.sampler.processes import Identity
from doctor.readers.machine.ray_processes import Raylet

DRIVER, ACTOR, OTHER = 10, 20, 30
_NOW = 100_000_000_000
_GET = ("/x/ray/_private/worker.py", 2801, "get")


def seen(pid: int, command: str, *frames: tuple[str, int, str]) -> Seen:
    process = RunningProcess(pid, 1, 1, 1, 1, "S", 0, "python", command)
    return Seen(process, Identity(pid), (), Answer(HOOK, (ThreadStack(pid, "MainThread", frames),)))


def event(task: str, pid: int, state: str, actor: str = "", **more: Any) -> dict[str, Any]:
    return {"task": task, "parent": "d", "name": f"Judge.{task}", "driver": False, "states": {state: _NOW - 10**9},
            "pid": pid, "job": "j", "actor": actor, **more}  # fmt: skip


def asked(events: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[RayTask]:
    """What is made of events that the cluster's own Python tells."""
    told = {"tasks": events, "jobs": [{"job": "j", "pid": DRIVER, "dead": False}], "now": _NOW}
    store = folder / "python3"
    store.write_text(f"#!{sys.executable}\nprint({json.dumps(told)!r})\n", encoding="utf-8")
    store.chmod(0o755)
    monkeypatch.setattr(ray_state, "raylets", lambda: [Raylet(1, "127.0.0.1:6379", None, None)])
    found, reason = tasks([seen(DRIVER, f"{store} train.py")])
    assert reason == ""
    return list(found)


@pytest.mark.process
def test_a_call_that_queues_waits_for_the_actor_that_runs_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [event("grade", ACTOR, "RUNNING", "a"), event("again", 0, "SUBMITTED_TO_WORKER", "a"),
              event("over", ACTOR, "FINISHED", "a"), event("elsewhere", 0, "PENDING_NODE_ASSIGNMENT", "b"),
              event("train", DRIVER, "RUNNING", driver=True)]  # fmt: skip
    found = {each.name: each for each in asked(events, tmp_path, monkeypatch)}
    assert sorted(found) == ["Judge.again", "Judge.elsewhere", "Judge.grade"]
    assert (found["Judge.again"].pid, found["Judge.again"].queued_pid) == (0, ACTOR)
    assert found["Judge.grade"].queued_pid == 0, "it runs"
    assert found["Judge.elsewhere"].queued_pid == 0, "nobody knows that actor's process"
    assert {each.parent_pid for each in found.values()} == {DRIVER}


def told_of(*under_way: RayTask) -> list[tuple[int, tuple[int, ...], bool]]:
    """(who, for whom, surely) of a driver that stands in `ray.get` and two actors that work."""
    all_seen = {
        DRIVER: seen(DRIVER, "python train.py", _GET),
        ACTOR: seen(ACTOR, "ray::Judge.grade", ("/home/u/judge.py", 3, "grade")),
        OTHER: seen(OTHER, "ray::Writer.write", ("/home/u/judge.py", 9, "write")),
    }
    return [(each.who, each.targets, each.sure) for each in waits_in_ray(all_seen, under_way)]


def test_what_queues_behind_one_task_is_a_sure_wait_for_its_actor() -> None:
    queued = RayTask("Judge.again", 0, DRIVER, "SUBMITTED_TO_WORKER", 1.0, ACTOR)
    runs = RayTask("Judge.grade", ACTOR, OTHER, "RUNNING", 5.0)
    assert told_of(queued, runs) == [(DRIVER, (ACTOR,), True)]


def test_behind_two_tasks_of_one_actor_it_may_be_either() -> None:
    queued = RayTask("Judge.again", 0, DRIVER, "SUBMITTED_TO_WORKER", 1.0, ACTOR)
    runs = [RayTask(f"Judge.{name}", ACTOR, OTHER, "RUNNING", 5.0) for name in ("grade", "rank")]
    assert told_of(queued, *runs) == [(DRIVER, (ACTOR,), False)]


def test_what_queues_for_nobody_waits_for_ray_itself() -> None:
    assert told_of(RayTask("Judge.again", 0, DRIVER, "PENDING_NODE_ASSIGNMENT", 1.0)) == [(DRIVER, (), True)]
