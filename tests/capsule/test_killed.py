"""A real run that SIGKILL ends: the post-mortem says what the sampler saw of the process last."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_doctor
from tests.homes import with_cache

pytestmark = pytest.mark.process

#: grows three times by 120 MiB, each time once the sampler has seen it, over two seconds and more of its clock, and is
#: gone. Where nobody looks it goes all the same
GROWS = """
import glob, os, signal, time
def seen():
    rows = []
    for path in glob.glob(os.path.join(os.environ["DOCTOR_RUN_DIR"], "host", "*-processes.csv")):
        with open(path) as file:
            lines = [line.strip().split(",") for line in file if line.endswith("\\n") and not line.startswith("#")]
        rows += [dict(zip(lines[0], each)) for each in lines[1:]]
    own = [(float(each["mono_s"]), float(each["memory_mib"])) for each in rows if each["pid"] == str(os.getpid())]
    return bool(own) and own[-1][1] > 120 * len(held) and own[-1][0] - own[0][0] > len(held) - 1
held, end = [], time.monotonic() + 60
for _ in range(3):
    held.append(b"x" * (120 << 20))
    while not seen() and time.monotonic() < end:
        time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
#: rank 1 goes so; rank 0 stays small, and sees it
RANKS = (
    """
import os, subprocess, sys
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(r), "WORLD_SIZE": "2"})
             for r in range(2)]
    code = ranks[1].wait()
    ranks[0].terminate()
    ranks[0].wait()
    print(f"failed (exitcode: {code}) local_rank: 1 (pid: {ranks[1].pid}) of binary: python", flush=True)
    sys.exit(1)
if os.environ["RANK"] == "0":
    import time
    other = b"x" * (500 << 20)
    time.sleep(100)
"""
    + GROWS
)
_LINE = re.compile(
    r"^(?P<who>.+) held (?P<gib>[\d.]+) GiB at \S+?, growing (?P<slope>[\d.]+) GiB/s; (?P<free>[\d.]+) of "
    r"(?P<total>[\d.]+) GiB of the machine's memory were free$"
)


def first_of(program: str, folder: Path) -> dict[str, Any]:
    """The first finding of a program under `doctor run` with its sampler."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    only = {"PATH": os.environ["PATH"], "HOME": str(with_cache(folder)), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    run_doctor("run", "--no-check", "--lang", "en", "--", sys.executable, "program.py", cwd=folder, only=only)
    report = next((folder / "doctor-runs").glob("2*/report.json"))
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))["findings"][0]
    return found


def growth_seen(folder: Path, who: str) -> float:
    """GiB a second over the last ten seconds of a process, as the sampler wrote them down: at least by 0.2 in all."""
    (path,) = (folder / "doctor-runs").glob("2*/host/*-processes.csv")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    own = [(float(each["mono_s"]), float(each["memory_mib"])) for each in rows if f"pid {each['pid']}" in who]
    assert own[-1][1] - own[0][1] > 200
    (start, least), (end, most) = next(each for each in own if own[-1][0] - each[0] <= 10), own[-1]
    return (most - least) / 1024 / (end - start)


@pytest.mark.parametrize(
    ("program", "who"),
    [(GROWS, r"the largest process of the run, pid \d+ \(python[\d.]*\),"), (RANKS, r"rank 1 \(pid \d+\)")],
)
def test_what_the_killed_process_held_last_is_told(program: str, who: str, tmp_path: Path) -> None:
    first = first_of(program, tmp_path)
    lines = [line for each in first["evidence"] if (line := _LINE.match(str(each.get("text"))))]
    assert len(lines) == 1, (first["id"], first["evidence"])
    assert re.fullmatch(who, lines[0]["who"])
    assert 0.15 < float(lines[0]["gib"]) < 0.45
    assert float(lines[0]["slope"]) == pytest.approx(growth_seen(tmp_path, lines[0]["who"]), abs=0.006)
    assert 0 < float(lines[0]["free"]) < float(lines[0]["total"])


def test_of_a_failure_that_is_no_sigkill_nothing_is_said(tmp_path: Path) -> None:
    first = first_of(GROWS.replace("os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)"), tmp_path)
    assert not [each for each in first["evidence"] if " held " in str(each.get("text"))]


HEAD = "time,t_ns,mono_s,host,pid,parent_pid,name,role,rank,cpu_pct,memory_mib,threads,read_mib_s,write_mib_s"


@pytest.mark.parametrize("exit_line", ["failed (exitcode: -9) local_rank: 0 (pid: 77) of binary: python"])
def test_where_two_machines_have_that_process_nothing_is_said(exit_line: str, tmp_path: Path) -> None:
    told = []
    for hosts in (["a"], ["a", "b"]):
        run = tmp_path / f"run{len(hosts)}"
        (run / "host").mkdir(parents=True)
        (run / "logs").mkdir()
        (run / "logs" / "console.log").write_text(f"{exit_line}\n", encoding="utf-8")
        for host in hosts:
            rows = [f"t{at},1,{at}.0,{host},77,1,python,trainer,0,1,{1024 * at},1,0,0" for at in (1, 2, 3)]
            rows.append("cut,off")
            (run / "host" / f"{host}-processes.csv").write_text("\n".join(["# schema", HEAD, *rows]), encoding="utf-8")
        done = run_doctor("postmortem", str(run), "--format", "json", cwd=tmp_path)
        first = json.loads(done.stdout)["findings"][0]
        told.append([each["text"] for each in first["evidence"] if " held " in str(each.get("text"))])
    assert told == [["rank 0 (pid 77) held 3.00 GiB at t3, growing 1.00 GiB/s"], []]
