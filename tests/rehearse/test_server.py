"""A run with a vLLM server gets one of the rehearsal's own; the user's is never contacted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import models, server
from doctor.monitors.rehearse.settings import VARIABLE
from tests.real.runs import environment
from tests.rehearse.cases import Case
from tests.rehearse.running import PROGRAMS, rehearse
from tests.rehearse.test_hooks import set_up

pytestmark = pytest.mark.process

#: stands in for TRL's program: tells its words and answers to `/health`
STAND_IN = """#!{python}
import http.server, json, os, sys
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
known = [name for name in ("RANK", "MASTER_ADDR", "DOCTOR_REHEARSAL") if name in os.environ]
open({told!r}, "w").write(json.dumps([sys.argv[1], words, known]))
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path.startswith("/health") else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer((words["--host"], int(words["--port"])), Health).serve_forever()
"""


class Listening:
    """A server of the user's that counts who comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.came: list[Any] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._socket.accept()
            except OSError:
                return
            self.came.append(address)
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def users() -> Iterator[Listening]:
    made = Listening()
    yield made
    made.close()


def client_module() -> Any:
    """TRL's client as far as its arguments go."""

    class VLLMClient:
        def __init__(self, base_url: str | None = None, host: str = "0.0.0.0", server_port: int = 8000,
                     group_port: int = 51216, connection_timeout: float = 0.0) -> None:  # fmt: skip
            self.url, self.group = base_url or f"http://{host}:{server_port}", group_port
            self.timeout = connection_timeout

    module = types.SimpleNamespace(VLLMClient=VLLMClient)
    server.clients(module)
    return module


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine with a card to spare, and a stand-in for TRL's program beside the interpreter; what it tells."""
    set_up(tmp_path, monkeypatch, deadline_s=40.0)
    told = tmp_path / "told.json"
    program = tmp_path / "trl"
    program.write_text(STAND_IN.format(python=sys.executable, told=str(told)))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(server, "spare_card", lambda: "3")
    monkeypatch.setattr(models._Policy, "name", str(tmp_path / "tiny"))
    monkeypatch.setattr(server._Own, "process", None)
    monkeypatch.setenv("RANK", "0")
    yield told
    if server._Own.process is not None:
        server._Own.process.kill()
        server._Own.process.wait()


def test_a_server_of_our_own_is_started_with_the_tiny_model(own: Path, users: Listening, tmp_path: Path) -> None:
    args = types.SimpleNamespace(
        vllm_server_base_url=None, vllm_server_host="127.0.0.1", vllm_server_port=users.port, vllm_group_port=51216
    )
    assert server.instead(args) == ""
    assert args.vllm_server_port != users.port
    client = client_module().VLLMClient(base_url=f"http://127.0.0.1:{users.port}", group_port=51216)
    command, words, known = json.loads(own.read_text())
    assert (command, words["--model"], words["--host"]) == ("vllm-serve", str(tmp_path / "tiny"), "127.0.0.1")
    assert client.url == f"http://127.0.0.1:{words['--port']}"
    assert client.group not in (51216, int(words["--port"]))
    assert known == []
    assert users.came == []


def test_a_server_that_does_not_come_up_ends_the_rehearsal_and_blames_nobody(own: Path) -> None:
    Path(sys.executable).with_name("trl").write_text(f"#!{os.path.realpath('/bin/sh')}\necho no card; exit 1\n")
    with pytest.raises(SystemExit) as over:
        client_module().VLLMClient(host="127.0.0.1", server_port=8000)
    assert over.value.code == 0
    written = "".join(each.read_text() for each in (own.parent / "stage").rglob("*.jsonl"))
    assert "own_server" in written
    assert "no card" in written


_REACHES = """
import socket, sys, types
from doctor.monitors.rehearse import attach
attach.begin()
from doctor.monitors.rehearse import server
args = types.SimpleNamespace(vllm_server_base_url=f"http://localhost:{sys.argv[1]}/v1")
print(server.instead(args))
for host in ("127.0.0.1", "localhost"):
    try:
        socket.create_connection((host, int(sys.argv[1])), 2).close()
        print("reached")
    except OSError as error:
        print(type(error).__name__)
"""


def test_what_else_wants_to_reach_the_users_server_is_refused(
    users: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(tmp_path, monkeypatch, held=True)
    variables = {**os.environ, "PYTHONPATH": str(PROGRAMS.parents[2])}
    assert VARIABLE in variables
    done = subprocess.run(
        [sys.executable, "-c", _REACHES, str(users.port)], env=variables, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["server", "OfflineError", "OfflineError"], done.stderr
    assert users.came == []


@pytest.mark.timeout(300)
def test_a_run_with_a_server_leaves_it_alone(
    python: Path, stage: Callable[[str], Path], users: Listening, tmp_path: Path
) -> None:
    words = (f"{PROGRAMS}/train.py", "{stage}/small", "right-server")
    without = "--ignore=PYT009=built without its kernels", "--ignore=PYT015=and without what the tests do not need"
    options = ("--no-resume", *without)
    case = Case(words, options=options, beside="vllm-0.33.0", variables={"SERVER_PORT": str(users.port)})
    done = rehearse(case, python, stage(""), tmp_path, environment(python, tmp_path))
    assert (done.code, done.ids, done.broken) == (0, [], []), done.report
    assert "generation" in done.reached
    said = [each["why"] for each in done.report["rehearsal"]["not_rehearsed"] if each["what"] == "engine"]
    assert any("never contacted" in each for each in said), said
    assert users.came == []
