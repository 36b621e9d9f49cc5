"""At its deadline a rehearsal says who waits for whom, as `doctor hang` sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.homes import with_cache

pytestmark = pytest.mark.process

SERVER = """
import socket, sys, time
def never_answers(connection):
    time.sleep(600)
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    never_answers(listening.accept()[0])
"""
ASKS = """
import socket, subprocess, sys
server = subprocess.Popen([sys.executable, "server.py"], stdout=subprocess.PIPE, text=True)
def ask(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"score")
        return connection.recv(10)
ask(int(server.stdout.readline()))
"""


def test_the_report_names_who_waits_for_whom(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "asks.py").write_text(ASKS)
    words = ["rehearse", "--deadline", "6", "--format", "json", "--", sys.executable, "asks.py"]
    variables = {**os.environ, "HOME": str(with_cache(tmp_path / "home"))}
    done = subprocess.run(
        [sys.executable, "-m", "doctor", *words], cwd=tmp_path, env=variables, capture_output=True, text=True,
        timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    (late,) = json.loads(done.stdout)["findings"]
    assert late["id"] == "LCH7208"
    assert "asks.py" in late["explanation"], late
    assert "waits for server.py" in late["explanation"], late
    assert "server.py" in late["headline"]
    assert any("never_answers" in each["text"] for each in late["evidence"]), late
