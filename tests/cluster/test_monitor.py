"""`doctor monitor` and `doctor report` over several machines: a real Ray cluster, a shared folder, many nodes."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.cluster import shared_run
from doctor.cluster.clocks import Comparisons, against_folder
from doctor.cluster.sampled_node import SampledNode, Tail
from doctor.cluster.sampling import Gathered
from doctor.readers.patient.carry import carry
from doctor.run.folder import HOST_VARIABLE, Events, RunDir, host_name, read_rows
from tests.cluster.rays import Rays, ray_cluster
from tests.commands import run_doctor
from tests.facts.environments import interpreter
from tests.monitors.conftest import spanned_s, wait_for
from tests.nvml import build_standin, scenario_env, shared_directory

DOCTOR = (sys.executable, "-m", "doctor")
SCENARIO = "include = h100x8.ini\n[system]\ngpus = 2\n[gpu *]\nactivity = 0 busy=1 sm=0.5\n"


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the stand-in of two cards adds to an environment."""
    env = scenario_env(build_standin(shared_directory(tmp_path_factory)), SCENARIO)
    return {name: value for name, value in env.items() if os.environ.get(name) != value}


@pytest.fixture(scope="module")
def rays(nvml: dict[str, str]) -> Iterator[Rays]:
    """Three nodes; the last has no GPU."""
    with ray_cluster([{"cpus": 1, "env": nvml}, {"cpus": 1, "env": nvml}, {"cpus": 1}]) as cluster:
        yield cluster


def waits(code: int) -> str:
    """A command that ends with this code when there is a file `go`; after four minutes nobody will make one."""
    return (
        "import os, sys, time\nend = time.monotonic() + 240\n"
        f"while not os.path.exists('go') and time.monotonic() < end: time.sleep(0.1)\nsys.exit({code})"
    )


def data_of(run: RunDir, what: str) -> list[dict[str, Any]]:
    return [each["data"] for each in run.read_events() if each["data"].get("what") == what]


def samplers(rays: Rays) -> list[int]:
    """Process ids of samplers on the nodes of this cluster; other test workers have clusters of their own."""
    found, own = [], f"RAY_TMPDIR={rays.environ['RAY_TMPDIR']}".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            if b"doctor.monitors.sampler.sampling" in words and own in path.with_name("environ").read_bytes().split(
                b"\0"
            ):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def rows_of(run: RunDir, host: str) -> int:
    return sum(1 for row in read_rows(run.gpu(host)) if row["memory_used_mib"])


@pytest.fixture(scope="module")
def sampled(rays: Rays, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDir, str]:
    """A command under `--ray`, during which the second node is killed; its run folder, and what the doctor said."""
    folder = tmp_path_factory.mktemp("ray")
    process = subprocess.Popen(
        [*DOCTOR, "monitor", "--ray", rays.address, "--during-run", "--", sys.executable, "-c", waits(7)],
        cwd=folder, env=rays.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(lambda: list(folder.glob("doctor-runs/2*")), 60)
        run = RunDir(next(folder.glob("doctor-runs/2*")))
        own = host_name()
        wait_for(lambda: data_of(run, "nodes"), 120)
        names = {each["id"]: each["name"] for each in data_of(run, "nodes")[0]["nodes"]}
        first, second, third = (names[ident] for ident in rays.ids)
        wait_for(lambda: min(rows_of(run, first), rows_of(run, second)) > 20 and run.host(third).exists(), 120)
        assert {first, second, third} == {own, f"{own}-2", f"{own}-3"}
        assert len(samplers(rays)) >= 3
        rays.kill(1)
        wait_for(lambda: data_of(run, "node lost"), 90)
        before = rows_of(run, first)
        wait_for(lambda: rows_of(run, first) > before + 10, 60)
        (run.path / "order").write_text(f"{first} {second} {third}")
        (folder / "go").touch()
        _, said = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 7, said
    return run, said


@pytest.mark.process
def test_every_node_of_ray_is_sampled_and_a_lost_one_is_told(sampled: tuple[RunDir, str]) -> None:
    run, said = sampled
    first, second, third = (run.path / "order").read_text().split()
    for host in (first, second):
        rows = list(read_rows(run.gpu(host)))
        assert {(row["host"], row["gpu"]) for row in rows} == {(host, "0"), (host, "1")}
        assert any(row["sm_active_pct"] == "50" for row in rows)
    assert not run.gpu(third).exists()
    assert [row["gpu_sampling"] for row in read_rows(run.host(third))][-1] == "absent"
    assert {each["of"] for each in data_of(run, "node lost")} == {second}
    assert f"lost during the run: {second}" in " ".join(said.split())
    assert f"{first}:0" in said


@pytest.mark.process
def test_the_samplers_end_with_the_command(sampled: tuple[RunDir, str], rays: Rays) -> None:
    run, _ = sampled
    wait_for(lambda: not samplers(rays), 20)
    first, _, third = (run.path / "order").read_text().split()

    def ended() -> set[str]:
        return {each["host"] for each in run.read_events() if each["data"].get("what") == "sampler ended"}

    wait_for(lambda: {first, third} <= ended(), 20)  # their last lines came, too


@pytest.mark.process
def test_clocks_of_one_machine_agree_within_what_the_comparison_is_worth(sampled: tuple[RunDir, str]) -> None:
    run, said = sampled
    told = data_of(run, "clock")
    assert {each["of"] for each in told} >= set((run.path / "order").read_text().split()[::2])
    for each in told:
        assert abs(each["offset_s"]) <= each["error_s"] + 1e-3
    assert "within the error of measuring it" in " ".join(said.split())


@pytest.mark.process
def test_the_live_table_has_all_nodes_and_quits_on_q(rays: Rays, tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        env = {**rays.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"}
        os.execve(sys.executable, [*DOCTOR, "monitor", "--ray", rays.address], env)  # noqa: S606 - in the forked child
    seen, asked, end = "", False, time.monotonic() + 120
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            seen += os.read(terminal, 1 << 16).decode("utf-8", "replace") if ready else ""
        except OSError:
            break  # it has ended
        last = seen[seen.rfind("DRAM %") :]
        if not asked and host_name() in last and "no GPU" in last and "q quits" in last:
            os.write(terminal, b"q")
            asked = True
    if not asked:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert asked, seen[-3000:]
    assert os.waitstatus_to_exitcode(status) == 0, seen[-3000:]
    wait_for(lambda: not samplers(rays), 30)


@pytest.mark.process
def test_samplers_end_when_the_doctor_is_killed(rays: Rays, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*DOCTOR, "monitor", "--ray", rays.address, "--for", "300s", "--no-live"], cwd=tmp_path, env=rays.environ,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: samplers(rays), 120)
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not samplers(rays), 30)


@pytest.mark.process
def test_without_a_cluster_this_machine_is_sampled_and_the_run_goes_on(tmp_path: Path, nvml: dict[str, str]) -> None:
    with subprocess.Popen(
        [*DOCTOR, "monitor", "--ray", "127.0.0.1:9", "--during-run", "--", sys.executable, "-c", waits(3)],
        cwd=tmp_path, env={**os.environ, **nvml}, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(lambda: list(tmp_path.glob("doctor-runs/2*")))
        (run,) = map(RunDir, (tmp_path / "doctor-runs").glob("2*"))
        wait_for(lambda: run.gpu(host_name()).exists() and rows_of(run, host_name()) > 5)
        (tmp_path / "go").touch()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3, said
    assert "this machine alone is: nothing accepts a connection at 127.0.0.1:9" in said


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ray", "auto", "--csv", "x.csv"), "--ray samples several machines: leave out --csv"),
        (("--collect", "x", "--prometheus", "9400"), "--collect samples several machines: leave out --prometheus"),
        (("--ray", "auto", "--collect", "x"), "leave out --collect"),
        (("--python", "x"), "it needs --ray"),
        (("--ray", "auto", "--python", "/nowhere/python"), "--ray: "),
    ],
)
def test_mistakes_are_told(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = run_doctor("monitor", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.split())


# A shared folder -------------------------------------------------------------------------------------------------

RANK = """
import doctor, os, sys, time
end = time.monotonic() + 100
with doctor.phase("update"):
    while not os.path.exists("go") and time.monotonic() < end:
        time.sleep(0.1)
print("rank", os.environ["RANK"])
sys.exit(3 if os.environ["RANK"] == "2" else 0)
"""


#: host -> ranks of its trainers
RANKS = {"n0": {"0", "1"}, "n1": {"2", "3"}}


def trainers(run: RunDir, host: str) -> set[str]:
    path = run.processes(host)
    return {row["rank"] for row in read_rows(path) if row["role"] == "trainer"} if path.exists() else set()


def sampled_s(run: RunDir) -> float:
    """Seconds for which each host has figures."""
    return min(spanned_s(run.gpu(host)) if run.gpu(host).exists() else 0 for host in RANKS)


@pytest.fixture(scope="module")
def collected(nvml: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDir, list[Any]]:
    """Two ranks on each of two hosts, as srun starts them; what came of each."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "train.py").write_text(RANK)
    started = [
        subprocess.Popen(
            [*DOCTOR, "monitor", "--collect", "run", "--during-run", "--", sys.executable, "train.py"],
            env={**os.environ, **nvml, HOST_VARIABLE: f"n{rank // 2}", "RANK": str(rank), "LOCAL_RANK": str(rank % 2)},
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(4)
    ]  # fmt: skip
    run = RunDir(folder / "run")
    try:
        wait_for(lambda: all(ranks <= trainers(run, host) for host, ranks in RANKS.items()) and sampled_s(run) > 3)
    finally:
        (folder / "go").touch()
        ended = [(each.communicate(timeout=120), each.returncode) for each in started]
    return run, ended


@pytest.mark.process
def test_one_sampler_a_node_and_every_command_keeps_its_code(collected: tuple[RunDir, list[Any]]) -> None:
    run, ended = collected
    assert [code for _, code in ended] == [0, 0, 3, 0]
    assert [out for (out, _), _ in ended] == [f"rank {rank}\n" for rank in range(4)]
    assert [bool(said) for (_, said), _ in ended] == [True, False, False, False]  # one tells, of all
    assert sorted(path.name for path in run.path.glob("gpu/n*.csv")) == ["n0.csv", "n1.csv"]
    for host in ("n0", "n1"):
        assert {(row["host"], row["gpu"]) for row in read_rows(run.gpu(host))} == {(host, "0"), (host, "1")}
        assert trainers(run, host) >= RANKS[host]
        assert sum("offset unknown" in line for line in run.gpu(host).read_text().splitlines()[:12]) == 1
    assert run.read_run()["host"] == "n0"
    marks = {(each["host"], each["rank"]) for each in run.read_events() if each["kind"] == "phase"}
    assert marks == {("n0", 0), ("n0", 1), ("n1", 2), ("n1", 3)}


@pytest.mark.process
def test_the_report_of_a_shared_folder_tells_both_nodes(collected: tuple[RunDir, list[Any]]) -> None:
    usage = report(collected[0].path)["usage"]
    assert [each["label"] for each in usage["gpus"]] == ["n0:0", "n0:1", "n1:0", "n1:1"]
    assert [(each["hosts"], each["gpus"]) for each in usage["hosts"]] == [(["n0"], 2), (["n1"], 2)]
    assert usage["phases_from"] == "marks"


def report(path: Path) -> Any:
    done = run_doctor("report", str(path), "--format", "json", cwd=path.parent, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.process
def test_a_folder_that_cannot_be_written_stops_no_command(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = ("monitor", "--collect", str(tmp_path / "file" / "run"))
    done = run_doctor(*words, "--during-run", "--", "sh", "-c", "exit 9", cwd=tmp_path)
    assert (done.returncode, "without the doctor" in done.stderr) == (9, True)
    assert run_doctor(*words, "--for", "2s", cwd=tmp_path).returncode == 2


def test_machines_of_one_name_get_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOST_VARIABLE, "node")
    run = RunDir(tmp_path)
    assert [shared_run.own_name(run, each) for each in ("a", "b", "a", "c")] == ["node", "node-2", "node", "node-3"]


@pytest.mark.parametrize(
    ("environ", "samples", "keeps"),
    [
        ({}, True, True),
        ({"SLURM_LOCALID": "0", "SLURM_PROCID": "0"}, True, True),
        ({"SLURM_LOCALID": "0", "SLURM_PROCID": "8"}, True, False),
        ({"SLURM_LOCALID": "1", "SLURM_PROCID": "1"}, False, False),
        ({"LOCAL_RANK": "0", "RANK": "4", "SLURM_LOCALID": "0", "SLURM_PROCID": "0"}, True, False),
    ],
)
def test_who_samples(environ: dict[str, str], samples: bool, keeps: bool) -> None:
    assert (shared_run.samples(environ), shared_run.keeps_record(environ)) == (samples, keeps)


# Parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_what_travels_to_a_node_is_imported_by_a_bare_python_39(tmp_path: Path) -> None:
    names = ["doctor.cluster.sampled_node", "doctor.cluster.ray_stream", "doctor.cluster.ray_main"]
    carry(names, tmp_path)
    code = (
        f"import sys, importlib; sys.path.insert(0, {str(tmp_path)!r}); [importlib.import_module(n) for n in {names}]"
    )
    done = subprocess.run([interpreter("3.9"), "-I", "-S", "-B", "-c", code], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_the_end_of_a_node_is_read_and_its_folder_taken_away() -> None:
    node = SampledNode({"options": [], "name": "n1"})
    wait_for(lambda: any(name == "host/n1.csv" for name in node.read()))
    rest = node.close()
    assert any("sampler ended" in text for name, text in rest.items() if name.startswith("events/n1-"))
    assert not node._folder.exists()


def test_a_file_is_read_once_and_emptied_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    block = "x" * 99 + "\n"
    path.write_text(block * 1000 + "torn")
    tail = Tail(path)
    assert tail.lines() == block * 1000
    assert tail.lines() == ""
    with path.open("a") as file:
        file.write(" no more\n")
    assert tail.lines() == "torn no more\n"
    if path.stat().st_blocks * 512 > 20_000:
        pytest.skip("this file system cannot punch holes")
    assert path.stat().st_size > 100_000


def test_the_best_comparison_of_clocks_is_told_when_it_is_better_or_old() -> None:
    clocks = Comparisons()
    assert clocks.take("n1", 0.2, 0.010, 0.0) == (0.2, 0.010)
    assert clocks.take("n1", 0.3, 0.009, 1.0) is None
    assert clocks.take("n1", 0.21, 0.002, 2.0) == (0.21, 0.002)
    assert clocks.take("n1", 0.5, 0.050, 3.0) is None
    assert clocks.take("n1", 0.22, 0.003, 700.0) == (0.22, 0.003)


def test_stamps_of_a_file_system_of_this_machine_tell_no_offset(tmp_path: Path) -> None:
    assert against_folder(tmp_path) is None


def test_a_node_writes_into_the_folders_of_the_run_and_nowhere_else(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    gathered = Gathered(run, Events(run))
    names = ("gpu/n1.csv", "../gpu/n1.csv", "run.json", "gpu/../../x.csv", "/tmp/x.csv", "names/n1.csv", "gpu/x.py")
    gathered.take({"kind": "rows", "node": "n1", "value": dict.fromkeys(names, "a,b\n")})
    gathered.close()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["run/gpu/n1.csv"]
