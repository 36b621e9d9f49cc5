"""The CSV of the sampler against the truth of the scenario. Times are real seconds."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.sampler import clock as clocks
from doctor.monitors.sampler import columns
from doctor.monitors.sampler.clock import Every, Now, Paced, Stretch, Ticker, now
from doctor.monitors.sampler.dcgm import parse
from doctor.monitors.sampler.gpu_states import reason_names
from doctor.monitors.sampler.processes import tree
from doctor.monitors.sampler.table import RowFile
from doctor.run.folder import RunDir, read_rows
from tests.monitors.conftest import GIB, METRICS, STATES, TRUTH, UUID_BEGINS, sampler, wait_for
from tests.nvml import scenario_env

PERIOD_S = 1 / 6

Rows = list[dict[str, str]]


def gpu_rows(run: RunDir, gpu: int, column: str) -> Rows:
    return [row for row in read_rows(run.gpu()) if row["gpu"] == str(gpu) and row[column]]


def data_of(run: RunDir, what: str) -> list[dict[str, Any]]:
    return [each["data"] for each in run.read_events() if each["data"].get("what") == what]


@lru_cache
def origin_ns(run: RunDir) -> int:
    """Wall time of scenario second 0: windows end at whole periods after it, and it lies just before the clock line."""
    stamp = int(gpu_rows(run, 0, "gpu_busy_pct")[0]["t_ns"])
    head = next(line for line in run.gpu().read_text().splitlines() if line.startswith("# clock"))
    began = int(head.split("t_ns=")[1].split()[0])
    period = int(PERIOD_S * 1e9)
    windows = -((began - stamp) // period)  # rounded up
    candidates = [stamp - (windows + extra) * period for extra in range(40)]
    truth = TRUTH[0]
    rows = gpu_rows(run, 0, "gpu_busy_pct")[:30]

    def error(origin: int) -> float:
        ends = [(int(row["t_ns"]) - origin) / 1e9 for row in rows]
        return sum(
            abs(float(row["gpu_busy_pct"]) - 100 * truth.mean("busy", end - PERIOD_S, end))
            for row, end in zip(rows, ends, strict=True)
        )

    return min(candidates, key=error)


@pytest.mark.process
@pytest.mark.parametrize("gpu", [0, 1])
def test_no_window_of_the_driver_is_lost_or_changed(runs: dict[str, RunDir], gpu: int) -> None:
    run, truth = runs["hopper"], TRUTH[gpu]
    origin = origin_ns(run)
    rows = gpu_rows(run, gpu, "gpu_busy_pct")
    assert len(rows) > 30
    assert {row["busy_source"] for row in rows} == {"samples"}
    ends = [(int(row["t_ns"]) - origin) / 1e9 for row in rows]
    gaps = [later - earlier for earlier, later in itertools.pairwise(ends)]
    assert gaps == pytest.approx([PERIOD_S] * len(gaps), abs=1e-5)
    for row, end in zip(rows, ends, strict=True):
        assert float(row["gpu_busy_pct"]) == pytest.approx(100 * truth.mean("busy", end - PERIOD_S, end), abs=0.6)


@pytest.mark.process
def test_the_memorys_share_is_that_of_the_last_whole_window(runs: dict[str, RunDir]) -> None:
    run, truth = runs["hopper"], TRUTH[0]
    compared = 0
    for row in gpu_rows(run, 0, "memory_busy_pct"):
        at_s = (int(row["t_ns"]) - origin_ns(run)) / 1e9
        end = int(at_s / PERIOD_S) * PERIOD_S
        if end <= PERIOD_S or at_s - end > PERIOD_S - 0.03:
            continue  # between the clock's reading and the driver's a window may end
        assert float(row["memory_busy_pct"]) == pytest.approx(100 * truth.mean("membusy", end - PERIOD_S, end), abs=0.6)
        compared += 1
    assert compared >= 3


@pytest.mark.process
@pytest.mark.parametrize("gpu", [0, 1])
@pytest.mark.parametrize(("column", "channel", "scale"), [
    ("sm_active_pct", "sm", 100), ("sm_occupancy_pct", "occupancy", 100), ("tensor_active_pct", "tensor", 100),
    ("dram_active_pct", "dram", 100), ("graphics_active_pct", "busy", 100), ("nvlink_rx_mib_s", "nvlink_rx", 1),
    ("pcie_tx_mib_s", "pcie_tx", 1),
])  # fmt: skip
def test_gpm_figures_are_the_mean_of_their_window(
    runs: dict[str, RunDir], gpu: int, column: str, channel: str, scale: float
) -> None:
    run, truth = runs["hopper"], TRUTH[gpu]
    origin = origin_ns(run)
    rows = gpu_rows(run, gpu, column)
    assert len(rows) >= (1 if column == "graphics_active_pct" else 4)  # asked every tenth time
    spent = span = 0.0
    for row in rows:
        assert row["sm_source"] == "gpm"
        spent += float(row[column]) * float(row["sm_window_s"])
        span += float(row["sm_window_s"])
    end = (int(rows[-1]["t_ns"]) - origin) / 1e9
    most = scale * max(step.values[channel] for step in truth.steps)
    # start and end are known to the delay of a busy machine between reading the clock and the counters
    assert spent / span == pytest.approx(scale * truth.mean(channel, end - span, end), abs=most * 0.2 / span)


@pytest.mark.process
def test_states_follow_the_truth(runs: dict[str, RunDir]) -> None:
    run = runs["hopper"]
    origin = origin_ns(run)
    compared = 0
    for row in gpu_rows(run, 2, "memory_used_mib"):
        at_s = (int(row["t_ns"]) - origin) / 1e9
        if at_s % 2.0 < 0.02 or at_s % 2.0 > 1.6:
            continue  # near a step, and a tick on a busy machine may be that late
        at = lambda channel, at_s=at_s: STATES.at(channel, at_s)  # noqa: E731
        assert int(row["memory_used_mib"]) == at("memory") // (GIB >> 10)
        assert int(row["sm_clock_mhz"]) == at("sm_clock")
        assert row["throttle_reasons"] == reason_names(int(at("throttle")))
        assert float(row["power_w"]) == pytest.approx(at("power"), abs=0.1) or at_s % 2.0 < 0.12
        compared += 1
    assert compared > 20
    spent = [float(row["energy_j"]) for row in gpu_rows(run, 2, "energy_j")]
    assert spent == sorted(spent)
    assert spent[-1] > spent[0]


@pytest.mark.process
def test_an_xid_becomes_an_event(runs: dict[str, RunDir]) -> None:
    assert data_of(runs["hopper"], "xid") == [{"what": "xid", "gpu": 2, "xid": 31}]


@pytest.mark.process
def test_head_says_what_the_figures_are(runs: dict[str, RunDir]) -> None:
    head = [line for line in runs["hopper"].gpu().read_text().splitlines() if line.startswith("#")]
    assert head[:2] == ["# schema doctor-gpu/1", "# driver 550.54.15"]
    assert sum("sm_source=gpm" in line for line in head) == 3
    periods = [line for line in head if "driver updates busy" in line]
    assert periods == [f"# gpu {gpu} driver updates busy every 167 ms" for gpu in range(3)]
    (told,) = data_of(runs["hopper"], "gpus")
    assert told["busy_period_s"] == pytest.approx(dict.fromkeys("012", PERIOD_S), abs=1e-4)
    assert "sm_source=none" in runs["geforce"].gpu().read_text()
    rows = list(read_rows(runs["hopper"].gpu()))
    assert list(rows[0]) == list(columns.GPU)
    assert {row["gpu"] for row in rows} == {"0", "1", "2"}
    mono = [(int(row["t_ns"]) / 1e9 - float(row["mono_s"])) for row in rows]
    assert max(mono) - min(mono) < 0.05


@pytest.mark.process
def test_without_a_true_figure_the_cells_stay_empty(runs: dict[str, RunDir]) -> None:
    rows = list(read_rows(runs["geforce"].gpu()))
    assert all(row["sm_active_pct"] == row["sm_source"] == row["ecc_corrected"] == "" for row in rows)
    assert len(gpu_rows(runs["geforce"], 0, "gpu_busy_pct")) > 20
    assert len(gpu_rows(runs["geforce"], 0, "power_w")) > 20
    assert gpu_rows(runs["geforce"], 0, "nvlink_rx_mib_s") == []


@pytest.mark.process
def test_dcgm_fills_what_nvml_cannot_tell(runs: dict[str, RunDir]) -> None:
    run = runs["dcgm"]
    (row,) = gpu_rows(run, 0, "sm_active_pct")  # the exporter repeated itself: one new figure
    assert (row["sm_active_pct"], row["tensor_active_pct"], row["dram_active_pct"]) == ("25.3", "12.5", "")
    assert (row["sm_source"], row["sm_window_s"]) == ("dcgm", "")
    (instance,) = gpu_rows(run, 1, "sm_active_pct")
    assert (instance["mig"], instance["sm_active_pct"]) == ("7", "50")
    assert "# dcgm http://127.0.0.1:" in run.gpu().read_text()


def test_a_page_that_is_no_exporters() -> None:
    assert parse("<html>\nDCGM_FI_PROF_SM_ACTIVE{} nonsense\n") == {}
    assert parse(METRICS.format(uuid=UUID_BEGINS))[UUID_BEGINS + "1", 7] == {"sm_active_pct": 50.0}


@pytest.mark.process
def test_a_lost_card_is_told_once_and_the_others_go_on(runs: dict[str, RunDir]) -> None:
    run = runs["lost"]
    assert [each["gpu"] for each in data_of(run, "lost")] == [3]
    last = {gpu: max(int(row["t_ns"]) for row in gpu_rows(run, gpu, "memory_used_mib")) for gpu in (0, 3)}
    assert last[0] - last[3] > 2e9


@pytest.mark.process
def test_errors_are_empty_cells_and_one_event(runs: dict[str, RunDir]) -> None:
    run = runs["errors"]
    assert gpu_rows(run, 0, "temperature_c") == []
    told = data_of(run, "nvml error")
    assert [each["call"] for each in told] == ["nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo"]
    rows = [row for row in read_rows(run.gpu()) if row["memory_used_mib"]]
    silent = [number for number, row in enumerate(rows) if not row["sm_clock_mhz"]]
    assert len(silent) in (9, 10)  # it fails for a while, and is asked again
    assert silent == list(range(silent[0], silent[-1] + 1))


@pytest.mark.process
def test_an_instance_has_figures_of_its_own(runs: dict[str, RunDir]) -> None:
    rows = gpu_rows(runs["mig"], 0, "sm_active_pct")
    by = {mig: [float(row["sm_active_pct"]) for row in rows if row["mig"] == mig] for mig in ("", "2", "3")}
    assert by[""] == pytest.approx([50] * len(by[""]))
    assert by["2"] == pytest.approx([12.5] * len(by["2"]))
    assert by["3"] == pytest.approx([0] * len(by["3"]))
    assert len(by["2"]) > 3
    assert all(row["uuid"].startswith("MIG-") for row in rows if row["mig"])
    held = list(read_rows(runs["mig"].gpu_processes()))
    assert {(row["mig"], row["pid"], row["memory_used_mib"]) for row in held} == {("2", "4100", "9000")}


@pytest.fixture(scope="module")
def blocked(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """A run whose driver hangs after twenty ticks, each time that it is tried."""
    run = RunDir(tmp_path_factory.mktemp("blocked"))
    (run.path / "before").write_text(" ".join(map(str, tree(os.getpid()))))
    scenario = "include = h100x8.ini\n[calls]\nnvmlDeviceGetCurrentClocksEventReasons = block after=20\n"
    process = sampler(run.path, scenario_env(folder, scenario), "--silent-s", "2.5", "--retry-s", "1", "--gpus", "0")
    wait_for(lambda: len(data_of(run, "nvml hangs")) >= 2)
    process.terminate()
    assert process.communicate(timeout=20)[1] == ""
    assert process.returncode == 0
    return run


@pytest.mark.process
def test_a_driver_that_hangs_costs_only_its_worker(blocked: RunDir) -> None:
    assert len(data_of(blocked, "gpus")) >= 2  # given up, tried again, given up again
    rows = list(read_rows(blocked.host()))
    assert "blocked" in {row["gpu_sampling"] for row in rows}
    gaps = [float(b["mono_s"]) - float(a["mono_s"]) for a, b in itertools.pairwise(rows)]
    assert max(gaps) < 2.5  # the host's figures go on
    ticks = len(gpu_rows(blocked, 0, "memory_used_mib"))
    assert 2 * 18 <= ticks <= 4 * 21


@pytest.mark.process
def test_no_worker_stays_in_a_driver_that_hangs(blocked: RunDir) -> None:
    def left() -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes().decode("utf-8", "replace")
                found += [words] if "gpu_worker" in words and str(blocked.path) in words else []
        return found

    wait_for(lambda: not left(), 10)


@pytest.mark.process
def test_host_and_processes_once_a_second(blocked: RunDir) -> None:
    rows = list(read_rows(blocked.host()))
    assert int(rows[0]["cpus"]) == os.cpu_count()
    assert rows[0]["cpu_pct"] == ""  # nothing to compare with yet
    assert all(0 <= float(row["cpu_pct"]) <= 100 for row in rows[1:])
    assert float(rows[-1]["sampler_cpu_s"]) > 0
    own = [row for row in read_rows(blocked.processes()) if row["pid"] == str(os.getpid())]
    assert abs(len(own) - len(rows)) <= 1
    assert int(own[0]["memory_mib"]) > 10
    # neither the sampler nor its worker counts as part of the run; what ran before them are fixtures of other tests
    before = (blocked.path / "before").read_text().split()
    assert str(os.getpid()) in before
    assert {row["pid"] for row in read_rows(blocked.processes())} <= set(before)


@pytest.mark.process
def test_without_a_driver_there_are_host_figures_and_no_error(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    process, run = sampler(tmp_path, env), RunDir(tmp_path)
    wait_for(lambda: run.host().exists() and "absent" in {row["gpu_sampling"] for row in read_rows(run.host())})
    process.terminate()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
    assert [row["gpu_sampling"] for row in read_rows(run.host())][-1] == "absent"
    (told,) = data_of(run, "no gpu")
    assert "no NVIDIA driver" in told["reason"]
    assert not run.gpu().exists()


@pytest.mark.process
def test_it_ends_with_what_it_watches(folder: Path, tmp_path: Path) -> None:
    watched = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = [
        sys.executable,
        "-m",
        "doctor.monitors.sampler.sampling",
        "--run",
        str(tmp_path),
        "--watch",
        str(watched.pid),
    ]
    process = subprocess.Popen(command, env=scenario_env(folder, "h100x8"))
    wait_for(lambda: RunDir(tmp_path).gpu().exists())
    watched.communicate(b"\n")
    assert process.wait(20) == 0
    worker = int(
        next(path for path in (tmp_path / "events").iterdir() if str(process.pid) not in path.name).stem.split("-")[-1]
    )
    end = time.monotonic() + 10
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.process
def test_killed_a_hundred_times_at_any_moment(tmp_path: Path) -> None:
    """Each writer appends to the same file as the one before it, and is killed."""
    rng = random.Random(5)  # noqa: S311 - moments, no secret
    path = tmp_path / "a.csv"
    for life in range(100):
        begun, begins = os.pipe()
        pid = os.fork()
        if pid == 0:
            table = RowFile(path, ["time", "t_ns", "mono_s", "host", "gpu", "power_w"], ["schema test"])
            number = 0
            while True:
                table.write([(now(), {"gpu": life, "power_w": number + extra}) for extra in range(8)])
                number += 8
                os.write(begins, b"." if number == 8 else b"")
        if life % 2:  # the others may die before their first row
            os.read(begun, 1)
        os.close(begun)
        os.close(begins)
        time.sleep(rng.uniform(0.001, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    written: dict[str, list[int]] = {}
    for row in read_rows(path):
        written.setdefault(row["gpu"], []).append(int(row["power_w"]))
    assert len(written) >= 50
    for numbers in written.values():
        assert numbers == list(range(len(numbers)))
    assert path.read_text().count("time,t_ns") == 1


def test_ticks_do_not_drift_or_pile_up() -> None:
    """A month at 100 ms on a made-up clock, with delays of up to three periods."""
    rng = random.Random(3)  # noqa: S311 - delays, no secret
    clock = [1000.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    ticker = Ticker(0.1, mono=lambda: clock[0], sleep=sleep)
    done, ticks = 0, 26_000
    for _ in range(ticks):
        late = ticker.wait()
        assert late < 0.1
        # each tick lies on the grid of the first one
        off = (clock[0] - 1000.0 - late) / 0.1
        assert off == pytest.approx(round(off), abs=1e-4)
        done += 1
        clock[0] += rng.choice((0.001, 0.001, 0.001, 0.35))
    total = round((clock[0] - 1000.0) / 0.1)
    assert done + ticker.missed == pytest.approx(total, abs=4)
    assert ticker.missed > 1000


def test_what_costs_much_comes_less_often() -> None:
    paced = Paced(share=0.0025, longest_s=5.0)
    assert [mono / 10 for mono in range(30) if paced.due(mono / 10)] == [0, 1, 2]
    for cost, period in ((0.002, 1), (0.006, 3), (0.1, 5)):
        for each in (cost, cost, cost, cost, 0.9, cost, cost, cost, cost):  # one that was dear by chance
            paced.spent(each)
        assert paced.period_s == period
    assert [mono / 10 for mono in range(30, 160) if paced.due(mono / 10)] == [3, 8, 13]


def test_a_pace_gives_way_to_what_else_there_is_to_do() -> None:
    stretch = Stretch(share=0.004)
    shares = [(0.002, 0.001), (0.0035, 0.001), (0.002, 0.001), (0.0035, 0.001), (0.0035, 0.001)]
    assert [stretch.judge(*each) for each in shares] == [False, False, False, False, True]  # once is no reason
    assert stretch.factor == 2
    assert not stretch.judge(0.0012, 0.001)  # at the old pace that would be 80 % of what is left
    assert stretch.judge(0.001, 0.001)
    assert stretch.factor == 1
    assert [stretch.judge(0.1, 0.005) for _ in range(2)] == [False, True]
    assert stretch.factor == 10


def test_another_pace_begins_with_the_last_tick() -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    ticker, ticks = Ticker(0.1, mono=lambda: clock[0], sleep=sleep), []
    for period_s in (0.1, 0.1, 0.5, 0.5, 0.1, 0.1):
        ticker.wait()
        ticks.append(round(clock[0], 3))
        ticker.set_period(period_s)
    assert ticks == [0, 0.1, 0.2, 0.7, 1.2, 1.3]
    assert ticker.missed == 0


def test_what_is_due_keeps_its_pace() -> None:
    every = Every(1.0)
    assert [mono / 10 for mono in range(40) if every.due(mono / 10)] == [0, 1, 2, 3]
    assert every.due(60.0)
    assert not every.due(60.9)
    assert every.due(61.0)


def test_clocks_between_which_the_process_had_to_wait_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mono, wall = iter((10.0, 10.2, 10.2001)), iter((1_000, 200_001_000))
    fake = SimpleNamespace(monotonic=lambda: next(mono), time_ns=lambda: next(wall))
    monkeypatch.setattr(clocks, "time", fake)
    assert now() == Now(200_001_000, 10.2001)


def test_a_moment_on_both_clocks() -> None:
    at = Now(1_700_000_000_000_000_000, 50.0)
    assert at.iso == "2023-11-14T22:13:20.000000+00:00"
    assert at.at(at.t_ns - 500_000_000).mono_s == 49.5
