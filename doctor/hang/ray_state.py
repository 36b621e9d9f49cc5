"""Which task of Ray waits for which, by the events of tasks that Ray's own control store keeps.

They are asked for with the Python and the ray of the run itself, in a process of its own that is given some seconds:
a client of another release may be refused, and a store that is dead keeps its caller waiting. `get_task_events` is what
`ray timeline` reads: https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/_private/state.py.
States and fields:
https://github.com/ray-project/ray/blob/ray-2.40.0/src/ray/protobuf/gcs.proto (TaskEvents), common.proto (TaskStatus).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from doctor.base.asking import asked
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.hang.graph import Wait
from doctor.hang.waits import Seen
from doctor.mend.processes import table
from doctor.readers.machine.ray_processes import Raylet, raylets

_WAIT_S = 10.0
#: how the cluster checks who asks; Ray reads the token itself, mostly below the home that the cluster was started in
#: (https://docs.ray.io/en/latest/ray-security/token-auth.html)
_SETTINGS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "HOME")
_TITLE = "ray::"
#: titles of workers that run no task
_IDLE = "ray::IDLE"

_ASK = """
import json, sys, time
from ray._raylet import GcsClientOptions, GlobalStateAccessor
from ray.core.generated import common_pb2, gcs_pb2
state = GlobalStateAccessor(GcsClientOptions.create(sys.argv[1], None, True, False))
state.connect()
told = []
for raw in state.get_task_events():
    task = gcs_pb2.TaskEvents.FromString(raw)
    updates = task.state_updates
    states = {common_pb2.TaskStatus.Name(int(key)): value for key, value in updates.state_ts_ns.items()}
    told.append({
        "task": task.task_id.hex(), "parent": task.task_info.parent_task_id.hex(), "name": task.task_info.name,
        "driver": task.task_info.type == common_pb2.TaskType.DRIVER_TASK,
        "states": states, "pid": updates.worker_pid, "job": task.job_id.hex(),
        "actor": task.task_info.actor_id.hex(),
    })
jobs = []
for raw in state.get_job_table():
    job = gcs_pb2.JobTableData.FromString(raw)
    jobs.append({"job": job.job_id.hex(), "pid": job.driver_pid, "dead": job.is_dead})
print(json.dumps({"tasks": told, "jobs": jobs, "now": time.time_ns()}))
"""


@record
class RayTask:
    """A task that has begun and not ended, or that waits to be placed.

    Args:
        name: `Worker.step`.
        pid: of the worker that runs it; 0 where none does yet.
        queued_pid: of the actor that it waits for to begin; 0 where it runs, or that is not told.
        parent_pid: of the process that called it; 0 where that is not told.
        state: the last that it reached.
        since_s: since it reached it.

    """

    name: str
    pid: int
    parent_pid: int
    state: str
    since_s: float
    queued_pid: int = 0


def tasks(members: Iterable[Seen]) -> tuple[tuple[RayTask, ...], str]:
    """Tasks that are under way in the clusters of this machine, and why nothing is known where it is not."""
    commands = [each.process.command for each in members]
    clusters = [each for each in raylets() if each.gcs_address is not None]
    found: list[RayTask] = []
    reason = ""
    with ThreadPoolExecutor(max(len(clusters), 1)) as pool:
        for told, why in pool.map(lambda each: _asked(each, _python(each, commands)), clusters):
            reason = reason or why
            found += _tasks(told)
    return tuple(found), reason


def _python(raylet: Raylet, commands: Sequence[str]) -> str:
    """The interpreter of the run: that of a command of it which exists, else this one."""
    root = str(Path(raylet.package).parents[3]) if raylet.package and len(Path(raylet.package).parents) > 3 else ""
    beside = Path(root, "bin", "python")
    if root and os.access(beside, os.X_OK):
        return str(beside)
    words = (command.split()[0] for command in commands if command)
    return next((each for each in words if each.startswith("/") and "python" in Path(each).name), sys.executable)


def _asked(raylet: Raylet, python: str) -> tuple[Mapping[str, Any], str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("DOCTOR_RUN_DIR", "PYTHONPATH")}
    daemon = table.read(raylet.pid)
    environment.update({name: daemon.environ[name] for name in _SETTINGS if daemon and name in daemon.environ})
    try:
        done = asked([python, "-c", _ASK, str(raylet.gcs_address)], environ=environment, seconds=_WAIT_S)
        if done.code is None:
            return {}, f"Ray's control store did not answer within {_WAIT_S:g} s"
        return json.loads(done.out.decode("utf-8", "replace").strip().splitlines()[-1]), ""
    except (OSError, ValueError, IndexError) as error:
        return {}, redact_text(f"Ray's control store was not queried ({type(error).__name__})")


def _tasks(told: Mapping[str, Any]) -> list[RayTask]:
    rows = [each for each in told.get("tasks", ()) if isinstance(each, Mapping)]
    drivers = {each["job"]: each["pid"] for each in told.get("jobs", ()) if not each.get("dead")}
    pids = {each["task"]: each["pid"] for each in rows if each["pid"]}
    actors = {each["actor"]: each["pid"] for each in rows if each.get("actor") and each["pid"]}
    found = []
    for each in rows:
        states = {name: int(at) for name, at in each["states"].items()}
        if not states or each["driver"] or {"FINISHED", "FAILED"} & states.keys() or each["job"] not in drivers:
            continue
        state, at = max(states.items(), key=lambda one: one[1])
        parent = pids.get(each["parent"]) or drivers[each["job"]]
        queued = 0 if each["pid"] else actors.get(each.get("actor"), 0)
        name = redact_text(str(each["name"]))
        found.append(RayTask(name, each["pid"], parent, state, (told["now"] - at) / 1e9, queued))
    return found


def waits_in_ray(seen: Mapping[int, Seen], under_way: Sequence[RayTask]) -> list[Wait]:
    """Waits of processes that stand in `ray.get` or `ray.wait`: for the tasks that they have called."""
    found = []
    for pid, each in seen.items():
        stack = each.stack(pid) or next(iter(each.answer.stacks), None)
        if stack is None or not any(_is_get(file, function) for file, _, function in stack.frames):
            continue
        called = [task for task in under_way if task.parent_pid == pid and task.pid != pid]
        running = tuple(sorted({one for task in called if (one := task.pid or task.queued_pid) in seen and one != pid}))
        names = ", ".join(sorted({task.name for task in called})[:4])
        since = max((task.since_s for task in called), default=None)
        if running:
            found.append(Wait(pid, running, "ray", what=names, since_s=since, sure=_one_each(called, under_way)))
        elif called:
            found.append(Wait(pid, (), "ray", what=names, outside=f"Ray ({called[0].state})", since_s=since))
        elif not under_way:
            working = tuple(one for one, other in seen.items() if _works(other) and one != pid)
            if working:
                found.append(Wait(pid, working, "ray", sure=False))
    return found


def _one_each(called: Sequence[RayTask], under_way: Sequence[RayTask]) -> bool:
    """Whether what queues, queues behind one task alone: an actor of several threads may end any of its tasks first."""
    queues = {task.queued_pid for task in called if task.queued_pid}
    return all(sum(task.pid == pid for task in under_way) == 1 for pid in queues)


def _is_get(file: str, function: str) -> bool:
    return function in ("get", "wait", "get_objects") and file.replace("\\", "/").endswith("ray/_private/worker.py")


def _works(each: Seen) -> bool:
    title = each.process.command
    return title.startswith(_TITLE) and not title.startswith(_IDLE) and "." in title.split()[0]
