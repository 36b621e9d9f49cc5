"""Servers of real vLLM releases with a stand-in for the engine, started as a user starts them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.real.conftest import model, python, shared  # noqa: F401 - fixtures
from tests.real.runs import end_group, environment, lacking

STUB = Path(__file__).parent / "stub"
#: release -> folders beside the interpreter of the real stack
FOLDERS = {"0.8.5": ["vllm-0.8.5"], "0.8.4": ["vllm-0.8.4"], "0.9.2": ["vllm-0.9.2", "trl-0.17"],
           "0.33.0": ["vllm-0.33.0"]}  # fmt: skip
_UP_S = 240.0  # vLLM's imports take 7 s on an idle machine


class Server:
    """A process that serves, or dies in the attempt."""

    def __init__(self, argv: list[str], env: dict[str, str], folder: Path, port: int) -> None:
        self.port = port
        self.log = folder / f"server-{port}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> int:
        """Exit code."""
        return self.process.wait(_UP_S)

    def up(self) -> bool:
        """Wait until it answers; False when it has ended instead."""
        end = time.monotonic() + _UP_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask("GET", "/health", timeout_s=5)
            except OSError:
                time.sleep(0.2)
                continue
            return True
        return False

    def ask(
        self, method: str, path: str, body: bytes | dict[str, Any] | None = None, *, timeout_s: float = 60
    ) -> tuple[int, str]:
        """Status and text of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            data = json.dumps(body).encode() if isinstance(body, dict) else body
            connection.request(method, path, data, {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def end(self) -> int:
        """Ask it to end, as a supervisor does."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        end_group(self.process.pid)
        self.process.wait()


Start = Callable[..., Server]


@pytest.fixture
def start(python: Path, model: Path, tmp_path: Path) -> Iterator[Start]:  # noqa: F811
    """Starts `doctor serve`, or the shipped module, over a release."""
    started: list[Server] = []

    def begin(release: str, *options: str, shipped: bool = False, site: Path | None = None, **variables: str) -> Server:
        folders = [site] if site else [python.parent.parent / each for each in FOLDERS[release]]
        for each in folders:
            if not each.is_dir():
                lacking(f"no vLLM {release} in {each} (tools/make_real_stack.sh installs it)")
        env = {**environment(python, tmp_path), "PYTHONPATH": os.pathsep.join(map(str, [*folders, STUB])), **variables}
        env.pop("PYTHONDONTWRITEBYTECODE")  # several of these servers import the same files
        port = free_port()
        words = ["--model", str(model), "--port", str(port)]
        if shipped:
            argv = [str(python), "-m", "vllm.entrypoints.api_server", "--host", "127.0.0.1", *words]
        else:
            argv = [sys.executable, "-m", "doctor", "serve", "--lang", "en", "--python", str(python), *options, *words]
        started.append(Server(argv, env, tmp_path, port))
        return started[-1]

    yield begin
    for each in started:
        each.close()
