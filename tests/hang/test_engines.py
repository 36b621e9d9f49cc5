"""Engines by their titles, threads by the locks they hold, stores by their keys, refusals by what is missing."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from doctor.diagnosis.hang_schema import HANG
from doctor.hang import asked, store, told, tracing
from doctor.hang.look import look
from doctor.mend.processes.stacks import program
from doctor.mend.processes.table import everybody, read
from doctor.monitors.sampler.processes import identity
from tests.commands import run_doctor

from .conftest import Standing
from .test_processes import READY, free_port

pytestmark = pytest.mark.process
needs_py_spy = pytest.mark.skipif(program() is None, reason="py-spy is not installed (pip install py-spy)")

#: overwrites arguments and what follows them in memory, as setproctitle does
TITLED = (
    READY
    + """
import ctypes, socket, sys
def call_it(title):
    space = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(space[45]), int(space[46])
    words = title.encode()
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, words, min(len(words), end - begin - 1))
title, port, waits = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if waits == "serves":
    ear = socket.create_server(("127.0.0.1", port))
    ready(title.replace("::", "-"))
    one, _ = ear.accept()
else:
    one = socket.create_connection(("127.0.0.1", port))
    one.sendall(b"generate")
call_it(title)
def event_loop():
    if waits == "serves":
        while True:
            sum(range(1000))
    one.recv(1)
ready(title.replace("::", "-") + waits)
event_loop()
"""
)


@needs_py_spy
@pytest.mark.parametrize(
    ("title", "role", "called"),
    [
        ("sglang::scheduler_TP0", "sglang_engine", "SGLang scheduler"),
        ("sglang::scheduler_DP1_TP0", "sglang_engine", "SGLang scheduler"),
        ("sglang::detokenizer", "sglang_worker", "SGLang worker"),
        ("VLLM::EngineCore_DP0", "vllm_engine", "vLLM engine"),
        ("VLLM::Worker_TP1", "vllm_worker", "vLLM worker"),
    ],
)
def test_an_engine_is_known_by_its_title(title: str, role: str, called: str, standing: Standing) -> None:
    port = str(free_port())
    filler = "-" * 60  # room for the title
    engine = standing.start(TITLED, title, port, "serves", filler, name="engine.py")
    standing.ready(title.replace("::", "-"))
    asks = standing.start(TITLED.replace("call_it(title)\n", "", 1), title, port, "asks", name="train.py")
    standing.ready(title.replace("::", "-") + "serves", title.replace("::", "-") + "asks")
    assert identity(engine).role == role
    hang, said = standing.said()
    assert hang.graph.of(asks)[0].targets == (engine,)
    assert hang.nodes[engine].name == f"{called} (pid {engine})"
    assert f"waits for {called} (pid {engine}) at :{port}, which runs `event_loop" in said.splitlines()[0], said


def test_servers_are_known_by_their_commands(tmp_path: Path) -> None:
    for number, (command, role) in enumerate(
        (
            ("python -m sglang.launch_server --model-path m", "sglang_server"),
            ("/venv/bin/sglang serve m", "sglang_server"),
            ("python -m vllm.entrypoints.openai.api_server", "vllm_server"),
            ("python train.py --engine sglang", "other"),
        ),
        start=1,
    ):
        own = tmp_path / str(number)
        own.mkdir()
        (own / "stat").write_text(f"{number} (python) S 0 0 0", encoding="utf-8")
        (own / "cmdline").write_text(command.replace(" ", "\0"), encoding="utf-8")
        assert identity(number, tmp_path).role == role, command


LOCKS = (
    READY
    + """
import threading, time
class Buffer:
    def __init__(self):
        self.lock = threading.RLock()
weights_lock, buffer = threading.Lock(), Buffer()
def push():
    with weights_lock:
        time.sleep(0.3)
        with buffer.lock:
            pass
def collect():
    with open("/dev/null"), buffer.lock:
        time.sleep(0.3)
        weights_lock.acquire()
def waits_alone():
    threading.Event().wait()
threads = [threading.Thread(target=each, name=each.__name__) for each in (push, collect, waits_alone)]
for each in threads:
    each.start()
ready("locked")
for each in threads:
    each.join()
"""
)


@needs_py_spy
def test_threads_that_hold_each_others_locks(standing: Standing) -> None:
    pid = standing.start(LOCKS, name="locks.py")
    standing.ready("locked")
    hang, said = standing.said()
    first = said.splitlines()[0]
    assert first.startswith(f"Threads of locks.py (pid {pid}) wait for each other's locks: "), said
    assert "`push` in `push (locks.py:14)` holds `weights_lock` and wants `buffer.lock`" in first
    assert "`collect` in `collect (locks.py:19)` holds `buffer.lock` and wants `weights_lock`" in first
    assert "waits_alone" not in first
    assert {each.thread for each in hang.locked[pid]} == {"push", "collect"}
    jsonschema.validate(told.as_data(hang), HANG)


@needs_py_spy
def test_threads_that_wait_in_a_line_are_no_circle(standing: Standing) -> None:
    pid = standing.start(LOCKS.replace("        weights_lock.acquire()\n", "        time.sleep(600)\n"), name="line.py")
    standing.ready("locked")
    hang, said = standing.said()
    assert pid not in hang.locked, said


GROUP = (
    READY
    + """
import os, sys, time
import torch.distributed as dist
rank = int(os.environ["RANK"])
if sys.argv[1] == "second":
    dist.init_process_group("gloo")
if rank == 1:
    ready("loads")
    while not os.path.exists("go"):
        time.sleep(0.1)
else:
    ready("makes")
if sys.argv[1] == "second":
    dist.new_group([0, 1])
else:
    dist.init_process_group("gloo")
dist.barrier()
ready(f"done{rank}")
"""
)


def test_the_store_tells_who_has_come_and_nobody_is_harmed(standing: Standing) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.distributed.TCPStore, "list_keys"):
        pytest.skip("this torch's store does not list its keys")
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    pids = [standing.start(GROUP, "second", name=f"train{rank}.py", RANK=str(rank), **common) for rank in range(2)]
    standing.ready("loads", "makes")
    hang, said = standing.said()
    (arrived,) = hang.arrived
    assert (arrived.call, arrived.waiting, arrived.members, arrived.missing) == ("new_group", (pids[0],), (0,), ())
    assert (
        f"Member 0 has reached `new_group`, by the keys of torch's store at 127.0.0.1:{common['MASTER_PORT']}" in said
    )
    jsonschema.validate(told.as_data(hang), HANG)
    (standing.folder / "go").touch()
    end = time.monotonic() + 30
    while not all((standing.folder / f"done{rank}").exists() for rank in range(2)):
        assert time.monotonic() < end, "the run does not go on after the look"
        time.sleep(0.1)


def test_a_store_that_says_nothing_keeps_nobody() -> None:
    pytest.importorskip("torch")
    process = read(os.getpid())
    assert process is not None
    begin_s = time.monotonic()
    here = replace(process, command=f"{sys.executable} train.py")
    with socket.create_server(("127.0.0.1", 0)) as ear:  # takes the connection and is silent
        keys, why = store._keys(store.Seen(here, identity(os.getpid()), ()), f"127.0.0.1:{ear.getsockname()[1]}")
    assert keys == []
    assert "torch's store" in why
    assert time.monotonic() - begin_s < 22


def test_keys_of_groups() -> None:
    keys = ["default_pg/0//cpu//0/0", "default_pg/0//cpu//0/1", "default_pg/0//1//cpu//0/1", "other/0", "x//cpu//0/7"]
    assert store.members_of("init_process_group", keys) == (0, 1)
    assert store.members_of("new_group", keys) == (1,)
    assert store.members_of("new_group", keys[:2]) == ()


@pytest.mark.parametrize(
    ("uid", "mine", "scope", "words"),
    [
        (1000, 1001, "0", "another user (uid 1000): run `doctor hang` as that user"),
        (1000, 1000, "1", "ptrace_scope is 1, so that only root may trace: run `sudo doctor hang`"),
        (1000, 1000, "3", "not even root, until the next boot"),
        (0, 0, "0", "no capability SYS_PTRACE"),
        (1000, 1000, None, "`--cap-add SYS_PTRACE`"),
    ],
)
def test_what_is_missing_to_trace(
    uid: int, mine: int, scope: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    if scope is not None:
        place = tmp_path / "sys" / "kernel" / "yama" / "ptrace_scope"
        place.parent.mkdir(parents=True)
        place.write_text(f"{scope}\n", encoding="ascii")
    assert words in tracing.refused(uid, tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        "Permission Denied: Try running again with elevated permissions by going 'sudo env \"PATH=$PATH\" !!'",
        "Error: Failed to get process executable name.\nReason: Permission denied (os error 13)",
        "Error: Operation not permitted (os error 1)",
        "make sure to start your container with '--cap-add=SYS_PTRACE'",
    ],
)
def test_py_spy_that_is_refused(said: str, standing: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = standing.folder / "py-spy"
    stand_in.write_text(f"#!{sys.executable}\nimport sys\nsys.exit({said!r})\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setattr(asked, "program", lambda: str(stand_in))
    pid = standing.start(READY + "import time\nready('sleeps')\ntime.sleep(600)\n", name="sleeps.py")
    standing.ready("sleeps")
    hang = standing.look()
    owner = read(pid)
    assert owner is not None
    assert hang.nodes[pid].blind == tracing.refused(owner.uid)
    assert hang.notes == (hang.nodes[pid].blind,)
    assert "trace" in hang.notes[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_process_of_another_user(standing: Standing) -> None:
    pid = standing.start(READY + "import time\nready('sleeps')\ntime.sleep(600)\n", name="sleeps.py")
    standing.ready("sleeps")
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(65534)
        hang = look([everybody()[pid]], None, "look")
        os.write(writable, json.dumps([hang.nodes[pid].blind, list(hang.notes)]).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        blind, notes = json.loads(pipe.read() or b"[]")
    os.waitpid(child, 0)
    assert blind == "the process belongs to another user (uid 0): run `doctor hang` as that user, or with sudo"
    assert notes == [blind]


def test_the_schema_is_offered(tmp_path: Path) -> None:
    done = run_doctor("schema", "hang", cwd=tmp_path)
    assert json.loads(done.stdout) == HANG
    assert HANG["title"] == told.SCHEMA
