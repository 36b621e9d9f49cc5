"""Real vLLM code of several releases, without its kernels and with a stand-in for the engine, over real HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.real.runs import environment, lacking

from .conftest import FOLDERS, STUB, Server, Start

pytestmark = [pytest.mark.timeout(900), pytest.mark.process]

DEAD_AT_START = "'State' object has no attribute 'engine_client'"
HELLO = {"prompt": "hello", "max_tokens": 3}


def converse(server: Server) -> None:
    """What an old client of `/generate` does, and what a broken one does."""
    assert server.ask("POST", "/generate", HELLO) == (200, '{"text":["hello big world"]}')
    status, text = server.ask("POST", "/generate", {**HELLO, "stream": True})
    assert [json.loads(line) for line in text.splitlines()] == [
        {"text": ["hello big"]}, {"text": ["hello big world"]},
    ]  # fmt: skip
    for body, kind in (
        (b'{"prompt": ', "invalid_json"),
        ({"n": 1}, "prompt_missing"),
        ({**HELLO, "temperature": -3}, "invalid_request"),
        ({**HELLO, "nonsense": 1}, "invalid_request"),
        ({"prompt": "refused"}, "invalid_request"),
    ):
        status, text = server.ask("POST", "/generate", body)  # type: ignore[arg-type]
        assert (status, json.loads(text)["error"]["type"]) == (400, kind), text
    status, text = server.ask("POST", "/generate", {"prompt": "broken"})
    assert (status, json.loads(text)["error"]["message"]) == (
        500, "CUDA error: an illegal memory access was encountered",
    )  # fmt: skip
    status, text = server.ask("GET", "/health")
    told = json.loads(text)
    assert (status, told["status"], told["generations"], told["failures"]) == (200, "ok", 2, 1)
    assert server.ask("GET", "/ready")[0] == 200


def hang_up(server: Server) -> None:
    """A client that does not wait for its answer."""
    with pytest.raises(TimeoutError):
        server.ask("POST", "/generate", {"prompt": "slow"}, timeout_s=0.3)


def drains(server: Server) -> None:
    """A request in flight is answered although the server was asked to end."""
    answers: list[Any] = []
    client = threading.Thread(target=lambda: answers.append(server.ask("POST", "/generate", {"prompt": "slow"})))
    client.start()
    end = time.monotonic() + 20
    while time.monotonic() < end and not json.loads(server.ask("GET", "/health")[1])["in_flight"]:
        time.sleep(0.05)
    code = server.end()
    client.join()
    assert (code, answers) == (0, [(200, '{"text":["slow big world"]}')]), server.text[-3000:]


@pytest.mark.parametrize("release", ["0.8.5", pytest.param("0.8.4", marks=pytest.mark.slow), "0.9.2", "0.33.0"])
def test_the_server_starts_talks_and_drains(start: Start, release: str) -> None:
    server = start(release)
    assert server.up(), server.text[-3000:]
    assert "--host 127.0.0.1, because no --host is given" in server.text
    converse(server)
    hang_up(server)
    drains(server)
    for bad in ("Task exception was never retrieved", "engine_client", "enable_server_load_tracking"):
        assert bad not in server.text, server.text[-3000:]


def test_a_dead_engine_is_told_to_the_client_and_the_user(start: Start) -> None:
    server = start("0.8.5")
    assert server.up(), server.text[-3000:]
    status, text = server.ask("POST", "/generate", {"prompt": "dead"})
    error = json.loads(text)["error"]
    assert (status, error["type"], error["cause"]["id"]) == (500, "EngineDeadError", "MEM6839/unknown_phase"), text
    assert "2.50 GiB" in error["cause"]["headline"]
    assert server.wait() == 1
    assert "The engine failed. Its output shows:" in server.text
    assert "MEM6839/unknown_phase gpu-memory-ran-out" in server.text


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.8.4", "0.33.0"])
def test_a_request_that_the_engine_forgot_when_it_died_is_answered(start: Start, release: str) -> None:
    server = start(release)
    assert server.up(), server.text[-3000:]
    status, text = server.ask("POST", "/generate", {"prompt": "forgotten"})
    assert (status, json.loads(text)["error"]["type"]) == (500, "EngineDeadError"), text
    assert server.wait() == 1, server.text[-3000:]
    assert "The engine failed. Its output shows:" in server.text


@pytest.mark.slow
def test_trls_server_answers_though_it_waits_for_a_worker_that_was_killed(start: Start) -> None:
    server = start("0.9.2", "--trl")
    assert server.up(), server.text[-3000:]
    assert server.ask("POST", "/generate/", {"prompts": ["a"]}) == (200, '{"completion_ids":[[1,2]]}')
    doctor = psutil.Process(server.process.pid)
    started = doctor.children(recursive=True)
    (worker,) = (each for each in started if each.ppid() != doctor.pid)
    answers: list[tuple[int, str]] = []
    client = threading.Thread(target=lambda: answers.append(server.ask("POST", "/generate/", {"prompts": ["long"]})))
    client.start()
    time.sleep(1.0)  # its /health does not answer meanwhile
    worker.kill()
    client.join()
    ((status, text),) = answers
    error = json.loads(text)["error"]
    assert (status, error["message"]) == (500, "process `Process-1` was killed by signal 9"), text
    assert error["cause"]["id"] == "LCH018"
    assert server.wait() == 1, server.text[-3000:]
    assert psutil.wait_procs(started, timeout=15)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.8.5", "0.33.0"])
def test_health_tells_a_core_that_stands_still_from_one_that_is_saturated(start: Start, release: str) -> None:
    server = start(release, "--stall", "3s", STUB_CORE="1")
    assert server.up(), server.text
    core = int(re.search(r"STUB core (\d+)", server.text)[1])  # type: ignore[index]
    assert server.ask("POST", "/generate", HELLO)[0] == 200
    assert server.ask("POST", "/generate", {"prompt": ["one", "two"]})[0] == 400

    def health() -> int:
        return server.ask("GET", "/health")[0]

    def becomes(status: int, within_s: float) -> bool:
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if health() == status:
                return True
            time.sleep(0.2)
        return False

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.ask, "POST", "/generate", {"prompt": "busy"}) for _ in range(4)]
        seen = set()
        while not all(each.done() for each in asked):  # the last one waits three times as long as the limit
            seen.add(health())
            time.sleep(0.2)
        assert (seen, {each.result()[0] for each in asked}) == ({200}, {200})
        os.kill(core, signal.SIGSTOP)
        try:
            running = pool.submit(server.ask, "POST", "/generate", HELLO)
            assert becomes(503, 20)
            assert "produced nothing for" in json.loads(server.ask("GET", "/health")[1])["reason"]
            assert server.ask("GET", "/ready")[0] == 503
        finally:
            os.kill(core, signal.SIGCONT)
        assert running.result()[0] == 200
        assert becomes(200, 20)
    os.kill(core, signal.SIGSTOP)  # nobody waits: a request of the doctor's own notices
    try:
        assert becomes(503, 40)
    finally:
        os.kill(core, signal.SIGCONT)
    assert becomes(200, 20)


def test_a_start_that_fails_is_explained_from_the_engines_own_output(start: Start) -> None:
    server = start("0.8.5", STUB_START="fail")
    assert not server.up()
    assert server.wait() == 1
    assert "The server ended with exit code 1" in server.text
    assert "MEM6839/unknown_phase gpu-memory-ran-out" in server.text


@pytest.fixture
def own_copy(python: Path, tmp_path: Path) -> Path:
    """vLLM 0.8.5.post1 in an environment of the test's own."""
    source = python.parent.parent / FOLDERS["0.8.5"][0]
    if not source.is_dir():
        lacking(f"no vLLM 0.8.5.post1 in {source} (tools/make_real_stack.sh installs it)")
    return Path(shutil.copytree(source, tmp_path / "site with space"))


def test_fix_mends_the_installed_file_and_takes_it_back(
    start: Start, own_copy: Path, python: Path, tmp_path: Path
) -> None:
    file = own_copy / "vllm" / "entrypoints" / "api_server.py"
    shipped = file.read_bytes()
    server = start("0.8.5", shipped=True, site=own_copy)
    assert not server.up()
    assert DEAD_AT_START in server.text

    def fix(*words: str) -> str:
        env = {**environment(python, tmp_path), "PYTHONPATH": os.pathsep.join((str(own_copy), str(STUB)))}
        argv = [sys.executable, "-m", "doctor", "fix", "VLL001", "--lang", "en", "--python", str(python), *words]
        argv += [] if "--undo" in words else ["--", str(python), "-m", "vllm.entrypoints.api_server", "--model", "m"]
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "+    app.state.engine_client = engine" in fix()
    assert file.read_bytes() == shipped  # only shown
    assert "VLL001 is no longer found" in fix("--apply", "--yes")
    server = start("0.8.5", shipped=True, site=own_copy)
    assert server.up(), server.text[-3000:]
    assert server.ask("GET", "/health") == (200, "")
    assert server.ask("POST", "/generate", HELLO) == (200, '{"text":["hello big world"]}')
    server.end()
    fix("--undo")
    assert file.read_bytes() == shipped
    server = start("0.8.5", shipped=True, site=own_copy)
    assert not server.up()
    assert DEAD_AT_START in server.text
