"""`doctor serve` over an engine that really generates: it talks, says why when its engine is killed, and ends whole."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import Any

import psutil
import pytest

from tests.serve.conftest import Server

from .conftest import LENGTH, Serve, vllm_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

#: 10 s of generation on an idle core: time to do something to the server meanwhile, and less than it gets to finish
LONG = {"prompt": "3+4=", "max_tokens": 1000, "ignore_eos": True, "temperature": 0}
DRAIN_S = 120


def processes(server: Server) -> list[psutil.Process]:
    """The doctor, the server and all that it started."""
    doctor = psutil.Process(server.process.pid)
    return [doctor, *doctor.children(recursive=True)]


def left(started: list[psutil.Process], within_s: float) -> list[psutil.Process]:
    """Those that still run when the time is over; one that has ended and waits for init to look after it does not."""
    end = time.monotonic() + within_s
    while (still := [each for each in started if _runs(each)]) and time.monotonic() < end:
        time.sleep(0.2)
    return still


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Generating(threading.Thread):
    """A client whose long generation is under way."""

    def __init__(self, server: Server, path: str = "/generate", **more: Any) -> None:
        super().__init__()
        self.answer: tuple[int, str] | None = None
        self._server = server
        self._path = path
        self._body = {**LONG, **more}
        self.start()
        end = time.monotonic() + 60
        while time.monotonic() < end and self.is_alive() and not health(server)[1]["in_flight"]:
            time.sleep(0.05)
        assert self.is_alive(), self.answer

    def run(self) -> None:
        self.answer = self._server.ask("POST", self._path, self._body, timeout_s=200)

    def wait(self) -> tuple[int, str]:
        self.join(240)
        assert self.answer is not None, "no answer"
        return self.answer


def health(server: Server) -> tuple[int, dict[str, Any]]:
    status, text = server.ask("GET", "/health")
    return status, json.loads(text)


def test_it_talks_and_drains_and_leaves_no_process(serve: Serve) -> None:
    server = serve("--drain", f"{DRAIN_S}s")
    assert server.ask("GET", "/ready")[0] == 200, server.text[-3000:]
    status, text = server.ask("POST", "/generate", {"prompt": "3+4=", "max_tokens": 4, "n": 2, "ignore_eos": True})
    told = json.loads(text)["text"]
    assert (status, len(told)) == (200, 2)
    assert all(each.startswith("3+4=") for each in told)
    status, text = server.ask("POST", "/generate", {"prompt": "3+4=", "max_tokens": 3, "stream": True})
    assert status == 200
    assert len(text.splitlines()) >= 1
    for body in ({"prompt": "x", "temperature": -3}, {"prompt": "x" * (LENGTH + 1)}):
        status, text = server.ask("POST", "/generate", body)
        assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request"), text
    status, told = health(server)
    assert (status, told["status"], told["generations"], told["failures"]) == (200, "ok", 2, 0)
    started = processes(server)
    client = Generating(server)
    code = server.end()
    status, text = client.wait()
    assert (code, status) == (0, 200), server.text[-3000:]
    assert f"1 requests in flight get {DRAIN_S} s to finish" in server.text
    assert left(started, within_s=15) == []


def test_an_engine_that_is_killed_is_told_with_its_cause(serve: Serve) -> None:
    server = serve()
    started = processes(server)
    client = Generating(server)
    kill_core(started)
    status, text = client.wait()
    error = json.loads(text)["error"]
    assert (status, error["type"]) == (500, "EngineDeadError"), text
    says_why(error)
    ends_and_says_why(server, started)


def kill_core(started: list[psutil.Process]) -> None:
    (core,) = (each for each in started if "EngineCore" in " ".join([each.name(), *each.cmdline()]))
    core.send_signal(signal.SIGKILL)


def says_why(error: dict[str, Any]) -> None:
    assert "was killed by signal 9" in error["message"]
    assert error["cause"]["id"] == "LCH018", error


def ends_and_says_why(server: Server, started: list[psutil.Process]) -> None:
    assert server.wait() == 1, server.text[-3000:]
    assert "The engine failed. Its output shows:" in server.text
    assert "LCH018 rank-killed" in server.text
    assert left(started, within_s=15) == []


@pytest.mark.parametrize("option", ["--openai", "--trl"])
def test_vllms_own_server_says_why_its_engine_died_and_ends(serve: Serve, option: str) -> None:
    """A whole answer and a stream are waited for; by itself vLLM forgets one of them now and then, and hangs."""
    server = serve(option)
    model = json.loads(server.ask("GET", "/v1/models")[1])["data"][0]["id"]
    started = processes(server)
    whole = Generating(server, "/v1/completions", model=model)
    stream = Generating(server, "/v1/completions", model=model, stream=True)
    kill_core(started)
    status, text = whole.wait()
    assert status == 500, text
    says_why(json.loads(text)["error"])
    status, text = stream.wait()
    assert status == 200, text
    last = next(each for each in text.splitlines() if each.startswith('data: {"error"'))
    says_why(json.loads(last[len("data: ") :])["error"])
    ends_and_says_why(server, started)


def test_a_server_that_is_killed_leaves_no_engine(serve: Serve) -> None:
    server = serve("--openai")
    model = json.loads(server.ask("GET", "/v1/models")[1])["data"][0]["id"]
    body = {"model": model, "prompt": "3+4=", "max_tokens": 4, "ignore_eos": True}
    status, text = server.ask("POST", "/v1/completions", body)
    assert (status, json.loads(text)["usage"]["completion_tokens"]) == (200, 4), text
    assert health(server)[1]["generations"] == 1
    started = processes(server)
    vllm_of(server).send_signal(signal.SIGKILL)
    assert [each.cmdline() for each in left(started, within_s=30)] == [], server.text[-3000:]


def test_trls_server_answers_and_ends_whole(serve: Serve) -> None:
    server = serve("--trl")
    model = json.loads(server.ask("GET", "/v1/models")[1])["data"][0]["id"]
    body = {"model": model, "prompt": "3+4=", "max_tokens": 4, "ignore_eos": True}
    status, text = server.ask("POST", "/v1/completions", body)
    assert (status, json.loads(text)["usage"]["completion_tokens"]) == (200, 4), text
    assert health(server)[1]["generations"] == 1
    started = processes(server)
    server.process.terminate()
    assert left(started, within_s=60) == []
