"""Real processes that stand still: who waits for whom is told by name."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import pytest

from doctor.hang import told
from doctor.hang.asked import HOOK, PY_SPY
from doctor.hang.files import Connection, Files
from doctor.hang.threads import Thread
from doctor.hang.waits import _at_connection
from doctor.mend.processes.stacks import program
from tests.commands import run_doctor

from .conftest import Standing

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(program() is None, reason="py-spy is not installed (pip install py-spy)"),
]

READY = "\nimport pathlib\ndef ready(name):\n    pathlib.Path(name).touch()\n"

SERVER = (
    READY
    + """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
def simplify(terms):
    total = 0
    while True:
        total += sum(each * each for each in range(terms))
class Rewards(BaseHTTPRequestHandler):
    def do_POST(self):
        simplify(1000)
server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Rewards)
ready("server")
server.serve_forever()
"""
)
RANK = (
    READY
    + """
import os, sys, time, urllib.request
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def reward(completions):
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/score", data=b"x" * completions, method="POST")
    return urllib.request.urlopen(request).read()
ready(f"rank{rank}")
if rank == 1:
    reward(7)
dist.all_reduce(torch.ones(3))
"""
)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_ranks_wait_for_a_server_that_computes(standing: Standing) -> None:
    pytest.importorskip("torch")
    port, master = free_port(), free_port()
    server = standing.start(SERVER, str(port), name="reward_server.py")
    standing.ready("server")
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(master)}
    ranks = [standing.start(RANK, str(port), name=f"train{rank}.py", RANK=str(rank), **common) for rank in range(2)]
    standing.ready("rank0", "rank1")
    hang, said = standing.said()
    assert hang.graph.sinks[0] == server
    assert hang.graph.cycles == ()
    first = said.splitlines()[0]
    assert first.startswith(f"Ranks 0, 1 wait for reward_server.py (pid {server}) at :{port}, which runs `simplify"), (
        first
    )
    assert "reward_server.py:11)" in first
    assert " ago" in first
    assert hang.nodes[ranks[0]].by == HOOK
    waits = {each.who: each for each in hang.graph.waits}
    assert (waits[ranks[0]].kind, waits[ranks[0]].what, waits[ranks[0]].targets) == (
        "collective",
        "all_reduce",
        (ranks[1],),
    )
    assert (waits[ranks[1]].kind, waits[ranks[1]].targets) == ("socket", (server,))
    done = run_doctor(
        "hang",
        str(standing.run.path),
        "--html",
        str(standing.folder / "hang.html"),
        "--lang",
        "en",
        cwd=standing.folder,
    )
    assert done.returncode == 0, done.stderr
    assert "rank 0 ──► rank 1 in all_reduce" in done.stdout
    page = (standing.folder / "hang.html").read_text("utf-8")
    assert "<svg" in page
    assert "simplify" in page
    kept = json.loads(next((standing.run.path / "hangs").glob("*.json")).read_text("utf-8"))
    assert kept["schema"] == told.SCHEMA
    assert kept["told"]["en"][0].startswith("Ranks 0, 1 wait for reward_server.py")


PEER = (
    READY
    + """
import socket, sys
one = socket.create_connection(("127.0.0.1", int(sys.argv[1]))) if sys.argv[2] == "b" else None
if one is None:
    ear = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    ready("listens")
    one, _ = ear.accept()
ready(sys.argv[2])
def wait_for_the_other():
    one.recv(1)
wait_for_the_other()
"""
)


def test_two_that_wait_for_each_other_are_a_deadlock(standing: Standing) -> None:
    port = str(free_port())
    first = standing.start(PEER, port, "a", name="left.py")
    standing.ready("listens")
    second = standing.start(PEER, port, "b", name="right.py")
    standing.ready("a", "b")
    hang, said = standing.said()
    assert [set(each) for each in hang.graph.cycles] == [{first, second}]
    assert said.splitlines()[0].startswith("Deadlock: left.py")
    assert hang.graph.sinks == ()
    assert {hang.nodes[each].by for each in (first, second)} == {PY_SPY}


LOADER = (
    READY
    + """
import os, time
import torch
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        if index == 1:
            ready("sleeps")
            self.download(index)
        return torch.ones(2) * index
    def download(self, index):
        time.sleep(600)
for batch in torch.utils.data.DataLoader(Rows(), num_workers=2, batch_size=1):
    pass
"""
)


def test_a_loader_worker_that_sleeps(standing: Standing) -> None:
    pytest.importorskip("torch")
    main = standing.start(LOADER, name="load.py")
    standing.ready("sleeps")
    hang, said = standing.said()
    assert hang.graph.cycles == (), said
    sink = hang.graph.sinks[0]
    assert "Rows.download (load.py:17)`" in said.splitlines()[0], said
    assert "sleeps in" in said.splitlines()[0]
    assert main in (hang.graph.waiters or {})[sink]
    assert ("index", "1") in hang.nodes[sink].values


IDLE = (
    READY
    + """
import sys, threading, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Rewards(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Rewards)
ready("server")
server.serve_forever()
"""
)
BUSY = (
    READY
    + """
import http.client, sys
kept = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
kept.request("GET", "/"); kept.getresponse().read()
ready("busy")
while True:
    sum(range(1000))
"""
)


def test_a_server_between_requests_waits_for_nobody(standing: Standing) -> None:
    port = str(free_port())
    server = standing.start(IDLE, port, name="server.py")
    standing.ready("server")
    busy = standing.start(BUSY, port, name="busy.py")
    standing.ready("busy")
    hang, said = standing.said()
    assert hang.graph.waits == ()
    assert said == "No process waits for another one."
    assert hang.nodes[busy].state == "runs"
    assert hang.nodes[server].state == "idle"


def test_an_address_elsewhere_is_named() -> None:
    connection = Connection(("127.0.0.1", 40_000), ("10.0.0.9", 8_000), 7)
    files = Files(sockets={1: {3: 7}}, connections={7: connection}, owners={7: frozenset({1})})
    wait = _at_connection(1, Thread(1, "main", "S", "read", (3,)), connection, files)
    assert (wait.targets, wait.outside) == ((), "10.0.0.9:8000")


def test_a_process_that_waits_for_itself_is_named(standing: Standing) -> None:
    text = (
        READY
        + """
import socket, sys
ear = socket.create_server(("127.0.0.1", 0))
own = socket.create_connection(ear.getsockname())
ready("asks")
own.sendall(b"GET /")
own.recv(1)
"""
    )
    pid = standing.start(text, name="asks.py")
    standing.ready("asks")
    hang, said = standing.said()
    wait = hang.graph.of(pid)[0]
    assert (wait.kind, wait.targets, wait.outside) == ("socket", (), "")
    assert f"waits for an answer at `{wait.what}` that it must give itself" in said


def test_secrets_and_texts_do_not_leave(standing: Standing) -> None:
    text = (
        READY
        + """
import time
def ask(api_key, prompt, count):
    ready("asks")
    time.sleep(600)
ask("sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF", "What is the meaning of these words? " * 9, 12)
"""
    )
    pid = standing.start(text, name="asks.py")
    standing.ready("asks")
    hang, _ = standing.said()
    whole = json.dumps(told.as_data(hang))
    assert "abcdefghijkl" not in whole
    assert "meaning" not in whole
    assert ("count", "12") in hang.nodes[pid].values


def test_what_is_refused(tmp_path: Path) -> None:
    for words in (("hang", "4194304999"), ("hang", str(tmp_path))):
        assert run_doctor(*words, cwd=tmp_path).returncode == 2


ACTORS = (
    READY
    + """
import time
import ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
@ray.remote
class Judge:
    def simplify(self, terms):
        ready("judges")
        time.sleep(terms)
@ray.remote
class Rollout:
    def __init__(self, judge):
        self.judge = judge
    def step(self):
        return ray.get(self.judge.simplify.remote(600))
ray.get(Rollout.remote(Judge.remote()).step.remote())
"""
)


def test_actors_by_rays_own_state(standing: Standing) -> None:
    pytest.importorskip("ray")
    driver = standing.start(ACTORS, name="train_actors.py")
    standing.ready("judges")
    time.sleep(3)  # Ray reports the events of its tasks every second
    hang, said = standing.said()
    first = said.splitlines()[0]
    assert hang.graph.cycles == ()
    assert "ray::Judge.simplify" in first, said
    assert "sleeps in `simplify" in first or "sleeps in `Judge.simplify" in first, said
    waits = {each.who: each for each in hang.graph.waits if each.kind == "ray"}
    assert "Rollout.step" in waits[driver].what
    assert len(waits) == 2
    assert all(each.sure for each in waits.values())
