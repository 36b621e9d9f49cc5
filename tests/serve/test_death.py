"""The end of a server whose engine has died: noticed, everybody answered, the shutdown bounded, an exit code."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.fixes.vllm_server import death, health, processes, state
from doctor.fixes.vllm_server.settings import ServerBounds


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(death, "HEALTH", health.Health())
    monkeypatch.setattr(death, "DEATH", death.Death())
    monkeypatch.setattr(death, "SETTINGS", ServerBounds(drain_s=7.0))
    monkeypatch.setattr(state.SERVED, "application", None)
    monkeypatch.setattr(processes, "_needed", [])
    monkeypatch.delenv("DOCTOR_RUN_DIR", raising=False)
    monkeypatch.delenv("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", raising=False)
    yield  # noqa: PT022 - monkeypatch takes all of it back afterwards


def engine(monkeypatch: pytest.MonkeyPatch, *, errored: bool) -> None:
    application = SimpleNamespace(state=SimpleNamespace(engine_client=SimpleNamespace(errored=errored)))
    monkeypatch.setattr(state.SERVED, "application", application)


@pytest.mark.parametrize(("errored", "lost", "reason"), [
    (None, None, None), (None, "process `a` was killed by signal 9", "process `a` was killed by signal 9"),
    (False, None, None), (True, None, "the engine has failed"),
    (False, "process `a` ended with exit code 0", None),  # an engine that lives may let go of a process
    (True, "process `a` was killed by signal 9", "process `a` was killed by signal 9"),
])  # fmt: skip
def test_what_counts_as_dead(
    monkeypatch: pytest.MonkeyPatch, errored: bool | None, lost: str | None, reason: str | None
) -> None:
    if errored is not None:
        engine(monkeypatch, errored=errored)
    monkeypatch.setattr(processes, "lost", lambda: lost)
    asyncio.run(death.known())
    assert death.DEATH.look() == reason


def test_processes_that_go_with_the_server_are_no_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "lost", lambda: "process `a` was killed by signal 2")
    death.HEALTH.draining = True
    assert death.DEATH.look() is None
    death.DEATH.exit()


def test_it_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(processes, "lost", lambda: "process `a` was killed by signal 9")
    for _ in range(3):
        death.DEATH.look()
        death.DEATH.tell("EngineDeadError", "see above")
    assert capsys.readouterr().err == "doctor: process `a` was killed by signal 9\n"
    with pytest.raises(SystemExit) as ended:
        death.DEATH.exit()
    assert ended.value.code == 1


def test_the_end_of_its_process_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine(monkeypatch, errored=True)
    begun = time.monotonic()
    killed = "process `a` was killed by signal 9"
    monkeypatch.setattr(processes, "lost", lambda: killed if time.monotonic() - begun > 0.3 else None)
    asyncio.run(death.known())
    assert death.DEATH.look() == killed
    assert capsys.readouterr().err == f"doctor: {killed}\n"


def test_a_failure_is_told_only_with_how_its_process_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's error may come before the engine says that it has failed, and that before the system says how."""
    engine(monkeypatch, errored=False)
    begun = time.monotonic()
    killed = "process `a` was killed by signal 9"
    monkeypatch.setattr(processes, "lost", lambda: killed if time.monotonic() - begun > 0.5 else None)
    asyncio.run(death.known())
    engine(monkeypatch, errored=True)
    assert death.DEATH.look() is None
    asyncio.run(death.known(failed=True))
    assert death.DEATH.look() == killed


@pytest.mark.parametrize(("keep", "ends"), [(None, True), ("0", True), ("1", False)])
def test_a_server_without_an_engine_ends(monkeypatch: pytest.MonkeyPatch, keep: str | None, *, ends: bool) -> None:
    monkeypatch.setattr(death, "_LOOK_S", 0.02)
    if keep is not None:
        monkeypatch.setenv("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", keep)
    engine(monkeypatch, errored=True)
    server = SimpleNamespace(should_exit=False)

    async def scene() -> None:
        death.watch(server, asyncio.get_running_loop())
        end = time.monotonic() + (20 if ends else 0.5)
        while not server.should_exit and time.monotonic() < end:  # noqa: ASYNC110 - uvicorn's attribute
            await asyncio.sleep(0.02)

    asyncio.run(scene())
    assert server.should_exit is ends


def test_who_waits_is_let_go_before_the_server_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(death, "_GRACE_S", 0.05)
    engine(monkeypatch, errored=True)
    server = SimpleNamespace(should_exit=False)
    seen: list[Any] = []

    async def request() -> None:
        task = asyncio.current_task()
        death.DEATH.waiting.add(task)
        death.HEALTH.in_flight += 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append((death.DEATH.was_cut(task), death.DEATH.was_cut(task), server.should_exit))
        death.HEALTH.in_flight -= 1

    async def scene() -> None:
        waiting = asyncio.ensure_future(request())
        await asyncio.sleep(0)
        await death._end(server)
        await waiting

    asyncio.run(asyncio.wait_for(scene(), 20))
    assert (seen, server.should_exit) == ([(True, False, False)], True)


class Uvicorn:
    """As far as its end is concerned."""

    def __init__(self, given: float | None) -> None:
        self.config = SimpleNamespace(timeout_graceful_shutdown=given)

    async def shutdown(self, sockets: Any = None) -> Any:
        return self.config.timeout_graceful_shutdown


@pytest.mark.parametrize(("given", "errored", "bound"), [
    (None, False, 7.0), (2, False, 2), (90, False, 7.0), (None, True, death.answered_s()), (5, True, 5),
])  # fmt: skip
def test_the_shutdown_is_bounded(
    monkeypatch: pytest.MonkeyPatch, given: float | None, bound: float, *, errored: bool
) -> None:
    engine(monkeypatch, errored=errored)
    assert asyncio.run(death.bounded(Uvicorn.shutdown)(Uvicorn(given))) == bound
    engine(monkeypatch, errored=True)  # after a shutdown that is not its fault, an engine that is gone is no death
    assert (death.DEATH.look() is not None) is errored


def test_what_the_launcher_leaves_ends_with_an_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    async def rest() -> None:
        done.append("rest")

    async def serve_http(app: str) -> Any:
        return rest() if app == "vllm" else app

    async def run_server() -> None:
        await (await death.ended(serve_http)("vllm"))

    asyncio.run(run_server())
    engine(monkeypatch, errored=True)
    asyncio.run(death.known())
    death.DEATH.look()
    with pytest.raises(SystemExit) as ended:
        asyncio.run(run_server())
    assert (ended.value.code, done) == (1, ["rest", "rest"])
    assert asyncio.run(death.ended(serve_http)("old")) == "old"


#: an event loop that waits for a worker, as TRL's own server does
WAITS = """
import asyncio, multiprocessing, os, sys, threading, time
from doctor.fixes.vllm_server import death, health, processes
death._STUCK_S = 0.3
death._LOOK_S = 0.1

def blocks_elsewhere():
    time.sleep(1.5)

async def main():
    mine, theirs = multiprocessing.Pipe()
    death.HEALTH.in_flight = 1
    death.watch(type("Server", (), {"should_exit": False}), asyncio.get_running_loop())
    processes.lost = lambda: "process `worker` was killed by signal 9"
    blocks_elsewhere()
    print("not there", flush=True)
    try:
        mine.recv()
    except death.EngineDeadError as exc:
        print(exc, flush=True)

asyncio.run(main())
"""


@pytest.mark.process
def test_a_loop_that_waits_for_a_dead_worker_is_interrupted_there_and_nowhere_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITS], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.stdout.splitlines() == ["not there", "process `worker` was killed by signal 9"], done.stderr
