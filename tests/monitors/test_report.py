"""`doctor report`: files of all kinds, numbers against known truths, verdicts, the page in a browser."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from doctor.diagnosis.schema import REPORT
from doctor.monitors.sampler import columns
from doctor.monitors.sampler.clock import Now
from doctor.monitors.sampler.table import RowFile
from doctor.monitors.usage.blocks import NotUsage
from doctor.monitors.usage.files import load
from doctor.monitors.usage.foreign_csv import load_any
from doctor.monitors.usage.judged import summarise
from doctor.monitors.usage.phases import marked
from doctor.monitors.usage.tracks import GpuKey
from doctor.render import usage_report
from doctor.run.folder import RunDir
from tests.commands import run_doctor

SAMPLES = Path(__file__).parent / "samples"
BEGIN_NS = 1_795_000_000_000_000_000
Figures = Callable[[int, float], dict[str, Any]]


def written(folder: Path, seconds: int, gpus: int, figures: Figures, step_s: float = 1.0) -> RunDir:
    """A run folder with these figures of each GPU at each moment."""
    run = RunDir(folder)
    table = RowFile(run.gpu("n1"), columns.GPU, [f"schema {columns.GPU_SCHEMA}"])
    for number in range(int(seconds / step_s)):
        at = Now(BEGIN_NS + int(number * step_s * 1e9), number * step_s)
        table.write([(at, {"gpu": gpu, "uuid": f"GPU-{gpu}", **figures(gpu, at.mono_s)}) for gpu in range(gpus)])
    table.close()
    return run


def event(run: RunDir, at_s: float, kind: str, rank: int | None = None, ident: str | None = None, **data: Any) -> None:
    path = run.events("n1", 1)
    path.parent.mkdir(exist_ok=True)
    line = {
        "t_ns": BEGIN_NS + int(at_s * 1e9),
        "host": "n1",
        "pid": 1,
        "rank": rank,
        "kind": kind,
        "id": ident,
        "data": data,
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def report(*words: str, code: int = 0) -> dict[str, Any]:
    done = doctor(*words, "--format", "json")
    assert done.returncode == code, done.stdout + done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(data, REPORT)
    assert not data["crashed"]
    return data


def doctor(*words: str) -> subprocess.CompletedProcess[str]:
    return run_doctor("report", *words, cwd=Path.cwd())


def gpm(active: float) -> dict[str, Any]:
    return {"sm_active_pct": active, "sm_window_s": 1.0, "sm_source": "gpm"}


def test_means_idle_hours_and_marked_phases(tmp_path: Path) -> None:
    def figures(gpu: int, at_s: float) -> dict[str, Any]:
        generating = at_s % 100 < 40
        return {**gpm(0 if generating and gpu == 0 else 60), "power_w": 100 + 200 * gpu, "memory_used_mib": 1000 + at_s}

    run = written(tmp_path, 400, 2, figures)
    for step in range(4):
        begin = step * 100 - 1  # a value is the mean of the second before its stamp
        event(run, begin, "phase", rank=0, name="generation", edge="begin")
        event(run, begin + 40, "phase", rank=0, name="generation", edge="end")
        event(run, begin + 40, "phase", rank=0, name="update", edge="begin")
        event(run, begin + 100, "phase", rank=0, name="update", edge="end")
    usage = report(str(tmp_path))["usage"]
    one, other = usage["gpus"]
    assert (one["sm_active_pct"], other["sm_active_pct"]) == (36, 60)
    assert (one["power_w"], other["power_w"], one["memory_peak_mib"]) == (100, 300, 1399)
    assert one["idle_hours"] == pytest.approx(160 / 3600, abs=6e-4)
    assert usage["idle_gpu_hours"] == pytest.approx(160 / 3600, abs=6e-4)
    assert usage["gpu_hours"] == pytest.approx(800 / 3600, abs=1e-3)
    phases = {each["name"]: each for each in usage["phases"]}
    assert usage["phases_from"] == "marks"
    assert phases["generation"]["share"] == pytest.approx(0.4)
    assert phases["generation"]["activity_pct"] == pytest.approx(30, abs=0.5)
    assert phases["update"]["activity_pct"] == pytest.approx(60, abs=0.5)
    assert phases["generation"]["idle_gpu_hours"] == pytest.approx(160 / 3600, abs=1e-3)


def test_without_marks_phases_come_from_the_activity(tmp_path: Path) -> None:
    written(tmp_path, 200, 2, lambda _, at_s: gpm(80 if at_s % 100 < 75 else 1))
    usage = report(str(tmp_path))["usage"]
    assert usage["phases_from"] == "activity"
    shares = {each["name"]: each["share"] for each in usage["phases"]}
    assert shares == pytest.approx({"active": 0.75, "idle": 0.25}, abs=0.02)


def test_the_innermost_phase_counts_and_the_end_of_the_outer_ends_all() -> None:
    def mark(at_s: int, name: str, edge: str) -> dict[str, Any]:
        return {
            "t_ns": at_s * 10**9,
            "kind": "phase",
            "rank": 0,
            "host": "a",
            "pid": 1,
            "data": {"name": name, "edge": edge},
        }

    events = [
        mark(0, "generation", "begin"), mark(2, "weight_sync", "begin"), mark(3, "weight_sync", "end"),
        mark(5, "reward", "begin"), mark(6, "generation", "end"), mark(8, "update", "begin"), mark(9, "update", "end"),
    ]  # fmt: skip
    said = [(each.name, each.begin_s, each.end_s) for each in marked(events)]
    assert said == [
        ("generation", 0, 2), ("weight_sync", 2, 3), ("generation", 3, 5), ("reward", 5, 6), ("update", 8, 9),
    ]  # fmt: skip


def test_torn_lines_and_a_file_cut_anywhere_are_read(tmp_path: Path) -> None:
    run = written(tmp_path, 60, 1, lambda _, at_s: gpm(at_s))
    whole = run.gpu("n1").read_bytes()
    text = whole.replace(b"\n", b"\n2026-11-22T01:10:00+00:00,17950#torn\n", 20)[: len(whole) - 20]
    head, _, rest = text.partition(b"time,t_ns")
    clean = re.sub(rb"^2026[^\n]*#torn\n", b"", head, flags=re.MULTILINE)
    run.gpu("n1").write_bytes(clean + b"time,t_ns" + rest)
    (tracks,) = load(tmp_path).gpus.values()
    assert tracks["sm_active_pct"].v.tolist() == list(range(len(tracks["sm_active_pct"].v)))
    assert 40 < len(tracks["sm_active_pct"].v) < 60


def test_the_busy_figure_is_never_called_activity_of_the_sms(tmp_path: Path) -> None:
    written(tmp_path, 100, 1, lambda _gpu, _at: {"gpu_busy_pct": 100, "power_w": 80})
    data = report(str(tmp_path))
    (gpu,) = data["usage"]["gpus"]
    assert (gpu["sm_active_pct"], gpu["gpu_busy_pct"], gpu["activity_from"]) == (None, 100, "gpu_busy_pct")
    event(RunDir(tmp_path), 0, "monitor", what="gpus", busy_period_s={"0": 0.1666665, "1": None})
    event(RunDir(tmp_path), 20, "monitor", what="states paced", power_every_s=0.5, states_every_s=1.0)
    shown = doctor(str(tmp_path)).stdout
    assert "activity from gpu_busy_pct, updated by the driver every 167 ms" in " ".join(shown.split())
    assert "power is read only every 500 ms" in " ".join(shown.split())
    assert "True SM activity is not available" in shown
    assert "SM active %" not in shown


def test_dmon_of_old(tmp_path: Path) -> None:
    usage = load_any(SAMPLES / "dmon_old.txt")
    one, other = (usage.gpus[GpuKey("", gpu)] for gpu in (0, 1))
    assert one["gpu_busy_pct"].v.tolist() == [25, 27]
    assert other["gpu_busy_pct"].v.tolist() == [18]  # the dash is no zero
    assert one["memory_used_mib"].v.tolist() == [11651, 11651]
    assert "sm_active_pct" not in one  # dmon's `sm` is utilization.gpu
    assert "ecc_uncorrected" not in one
    assert any("no time" in note for note in usage.notes)
    copy = tmp_path / "x.txt"
    copy.write_text((SAMPLES / "dmon_old.txt").read_text())
    assert "1 s · 2 GPUs" in doctor(str(copy)).stdout


def test_dmon_with_stamps_and_gpm() -> None:
    tracks = load_any(SAMPLES / "dmon_stamped.csv").gpus[GpuKey("", 0)]
    assert tracks["sm_active_pct"].v.tolist() == [52.5, 47.5]
    assert tracks["graphics_active_pct"].v.tolist() == [99.1, 99.0]
    assert (tracks["power_w"].t[1] - tracks["power_w"].t[0]) == 1


def test_query_of_nvidia_smi() -> None:
    usage = load_any(SAMPLES / "query.csv")
    one, other = (usage.gpus[GpuKey("", gpu)] for gpu in (0, 1))
    assert one["gpu_busy_pct"].v.tolist() == [100, 100]
    assert other["gpu_busy_pct"].v.tolist() == [0]
    assert "power_w" not in other
    assert one["throttle"].v.tolist() == [0, 0x40]
    assert summarise(usage).seconds == 60.5
    data = report(str(SAMPLES / "query.csv"))
    assert [each["id"] for each in data["findings"]] == ["GPU007"]


@pytest.mark.parametrize(
    "columns", ["power.limit [W]", "enforced.power.limit [W]", "power.limit [W], enforced.power.limit [W]"]
)
def test_a_lower_power_limit_in_a_query_of_nvidia_smi(tmp_path: Path, columns: str) -> None:
    count = columns.count("[W]")
    rows = [f"timestamp, index, utilization.gpu [%], power.draw [W], {columns}"]
    for second in range(400):
        for gpu in range(8):
            limits = [f"{350 if gpu == 5 and at == count - 1 else 700}.00 W" for at in range(count)]  # the last applies
            time = f"2026/01/01 00:{second // 60:02d}:{second % 60:02d}.000"
            rows.append(f"{time}, {gpu}, 97 %, {345 if gpu == 5 else 650}.00 W, {', '.join(limits)}")
    (tmp_path / "g.csv").write_text("\n".join(rows))
    (found,) = (each for each in report(str(tmp_path / "g.csv"))["findings"] if each["id"] == "PRF011")
    assert found["headline"] == "The power limit of GPU 5 is 350 W, that of the others 700 W"


@pytest.mark.parametrize("text", ["", "step,loss\n1,2\n", "index, utilization.gpu [%]\n0, 5 %\n", "# gpu sm\n"])
def test_what_is_no_usage_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(NotUsage):
        load_any(path)
    done = doctor(str(path))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("cell", ["1e999 %", "1.2.3 %", "0x10 %", "5e1", "[N/A]", "--7"])
def test_a_damaged_cell_is_no_figure(tmp_path: Path, cell: str) -> None:
    """Not even the digits that it begins with."""
    rows = [f"2026/01/01 00:00:0{second}.000, A, {cell}, 40 %" for second in range(5)]
    (tmp_path / "g.csv").write_text("\n".join(["timestamp, name, utilization.gpu [%], utilization.memory [%]", *rows]))
    (tracks,) = load_any(tmp_path / "g.csv").gpus.values()
    assert "gpu_busy_pct" not in tracks
    assert set(tracks["memory_busy_pct"].v) == {40.0}


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    assert "has no figures" in doctor(str(tmp_path)).stderr


def ids(data: dict[str, Any]) -> set[str]:
    return {each["id"] for each in data["findings"]}


def test_trainer_and_server_taking_turns(tmp_path: Path) -> None:
    run = written(tmp_path, 400, 4, lambda gpu, at_s: gpm(70 if (at_s % 100 < 50) == (gpu < 2) else 0))
    table = RowFile(run.gpu_processes("n1"), columns.GPU_PROCESS, ["schema x"])
    at = Now(BEGIN_NS, 0.0)
    table.write([(at, {"gpu": gpu, "pid": gpu, "role": "trainer" if gpu < 2 else "vllm_engine"}) for gpu in range(4)])
    rows = run.gpu_processes("n1").read_text().replace(f",{os.uname().nodename},", ",n1,")
    run.gpu_processes("n1").write_text(rows)
    run.gpu("n1").write_text(run.gpu("n1").read_text().replace(f",{os.uname().nodename},", ",n1,"))
    data = report(str(tmp_path))
    (finding,) = data["findings"]
    assert finding["id"] == "PRF010"
    assert "idles 50 %" in finding["headline"]


def test_events_become_findings(tmp_path: Path) -> None:
    run = written(tmp_path, 100, 2, lambda _gpu, at_s: {**gpm(70), "ecc_uncorrected": 0 if at_s < 50 else 3})
    event(run, 30, "gpu", what="xid", gpu=1, xid=79)
    event(run, 31, "gpu", what="lost", gpu=1, code=15)
    event(run, 40, "gpu", what="xid", gpu=0, xid=31)
    data = report(str(tmp_path), code=1)
    said = {(each["id"], each["severity"], each["where"].get("gpu")) for each in data["findings"]}
    assert said == {
        ("GPU002", "error", 1), ("GPU010", "warning", 1), ("GPU010", "info", 0), ("GPU004", "error", 0),
        ("GPU004", "error", 1),
    }  # fmt: skip
    lost = next(each for each in data["findings"] if each["id"] == "GPU002")
    assert "31 s into the run" in lost["headline"]
    chinese = json.loads(doctor(str(tmp_path), "--format", "json", "--lang", "zh").stdout)
    assert all(re.search("[一-鿿]", each["headline"]) for each in chinese["findings"])


def test_a_run_that_the_guard_stopped_says_so(tmp_path: Path) -> None:
    from doctor.catalogue.alarm import as_data
    from doctor.catalogue.finding import Message, Words, found
    from doctor.checks.numerics.loss_or_gradient_not_finite import PROBLEM

    run = written(tmp_path, 100, 1, lambda _gpu, _at: gpm(70))
    alarm = found(PROBLEM, Message(en=Words("`loss` is NaN at step 3", "It is lost.", "Go back.")))
    event(run, 30, "alarm", 0, "NUM006", **as_data(alarm, "checkpoint"))
    assert not report(str(tmp_path))["findings"]  # it asked for a stop, and nobody says that one came
    event(run, 31, "stop", 0, "NUM006", policy="checkpoint", save="asked")
    data = report(str(tmp_path), code=1)
    assert (data["findings"][0]["id"], data["target"]["stopped"]["save"]) == ("NUM006", "asked")
    text = doctor(str(tmp_path)).stdout
    assert "stopped by the guard" in text
    assert "Nothing" not in text
    assert "guard 停止了运行" in doctor(str(tmp_path), "--lang", "zh").stdout


def test_a_slow_hot_card_among_others(tmp_path: Path) -> None:
    def figures(gpu: int, _at: float) -> dict[str, Any]:
        hot = gpu == 3
        reasons = "hw_slowdown|hw_thermal_slowdown" if hot else "sw_power_cap"
        return {**gpm(90), "sm_clock_mhz": 900 if hot else 1900, "throttle_reasons": reasons}

    written(tmp_path, 120, 4, figures)
    data = report(str(tmp_path))
    assert ids(data) == {"PRF011", "GPU007"}
    assert {each["where"]["gpu"] for each in data["findings"]} == {3}


@pytest.mark.parametrize(
    ("seconds", "busy", "power", "expected"),
    [(300, 100, 90, {"PRF015"}), (300, 100, 200, set()), (300, 80, 90, set()), (100, 100, 90, set())],
)
def test_busy_at_low_power_is_called_what_it_is(
    tmp_path: Path, seconds: int, busy: int, power: int, expected: set[str]
) -> None:
    def figures(_gpu: int, at_s: float) -> dict[str, Any]:
        return {"gpu_busy_pct": busy, "power_w": power, "power_limit_w": 450 if at_s % 10 == 0 else None}

    written(tmp_path, seconds, 1, figures)
    data = report(str(tmp_path))
    assert ids(data) == expected
    if expected:
        (finding,) = data["findings"]
        assert finding["headline"] == "GPU 0 was 100 % busy at 20 % of its power limit for 5 min"
        assert finding["where"]["gpu"] == 0


def test_errors_on_an_nvlink_are_told_with_card_and_link(tmp_path: Path) -> None:
    run = written(tmp_path, 100, 4, lambda _gpu, _at: gpm(70))
    event(run, 40, "gpu", what="nvlink", gpu=2, seconds=30.0, errors=[[5, "replay", 7], [5, "crc", 4500]])
    event(run, 130, "gpu", what="nvlink", gpu=2, seconds=30.0, errors=[[5, "recovery", 1]])
    event(run, 70, "gpu", what="nvlink", gpu=3, seconds=30.0, errors=[[0, "crc", 60]])
    (finding,) = report(str(tmp_path))["findings"]
    assert finding["headline"] == "NVLink 5 of GPU 2 counted errors during the run: replay +7, recovery +1"
    assert "up to 150 per second" in finding["explanation"]
    assert finding["where"]["gpu"] == 2
    assert finding["remedy"]["commands"] == ["nvidia-smi nvlink -e -i 2"]


def processes(run: RunDir, role: str, seconds: int, mib: Callable[[int], int]) -> None:
    """What a process of this role holds on GPU 0, every ten seconds."""
    header = ",".join(columns.GPU_PROCESS)
    rows = [
        f"x,{BEGIN_NS + at_s * 10**9},{at_s},{os.uname().nodename},0,,77,{mib(at_s)},python,{role},"
        for at_s in range(0, seconds, 10)
    ]
    run.gpu_processes("n1").write_text("\n".join([header, *rows, ""]))


def test_a_trainer_that_the_guard_names_is_one(tmp_path: Path) -> None:
    run = written(tmp_path, 60, 1, lambda _gpu, _at: gpm(70))
    processes(run, "other", 60, lambda _at: 100)
    assert report(str(tmp_path))["usage"]["gpus"][0]["roles"] == ["other"]
    line = {"t_ns": BEGIN_NS, "host": os.uname().nodename, "pid": 77, "rank": 0, "role": "trainer", "kind": "start"}
    run.events("n1", 77).parent.mkdir(exist_ok=True)
    run.events("n1", 77).write_text(json.dumps({**line, "data": {}}) + "\n")
    assert report(str(tmp_path))["usage"]["gpus"][0]["roles"] == ["trainer 0"]
    path = run.gpu_processes("n1")
    path.write_text(path.read_text().replace(",other,", ",trainer,", 3).replace(",other,", ",trainer,0"))
    run.events("n1", 77).unlink()
    assert report(str(tmp_path))["usage"]["gpus"][0]["roles"] == ["trainer 0"]


def test_a_phase_of_the_runs_own_naming_has_a_row(tmp_path: Path) -> None:
    run = written(tmp_path, 60, 1, lambda _gpu, _at: gpm(70))
    for at_s, edge, label in ((0, "begin", "my tools"), (20, "end", "my tools"), (20, "begin", "judge")):
        event(run, at_s, "phase", rank=0, name="other", edge=edge, label=label)
    event(run, 50, "phase", rank=0, name="other", edge="end", label="judge")
    seconds = {each["name"]: each["seconds"] for each in report(str(tmp_path))["usage"]["phases"]}
    assert seconds == {"other: judge": 30, "other: my tools": 20}


@pytest.mark.parametrize("marks", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize(
    ("role", "asleep", "expected"),
    [("vllm_engine", 16400, {"MEM025"}), ("vllm_engine", 3000, set()), ("trainer", 16400, set())],
)
def test_memory_that_a_sleeping_engine_keeps(
    tmp_path: Path, *, role: str, asleep: int, expected: set[str], marks: bool
) -> None:
    run = written(tmp_path, 400, 1, lambda _gpu, _at: {**gpm(70), "memory_used_mib": 50000})
    processes(run, role, 400, lambda at_s: 23000 if at_s % 100 < 40 else asleep)
    for begin in range(0, 400, 100) if marks else ():
        for name, first, last in (("generation", 0, 40), ("update", 45, 100)):
            event(run, begin + first, "phase", rank=0, name=name, edge="begin")
            event(run, begin + last, "phase", rank=0, name=name, edge="end")
    data = report(str(tmp_path))
    assert ids(data) == expected
    if expected:
        (finding,) = data["findings"]
        assert finding["headline"] == "vLLM keeps 16.0 of 22.5 GiB on GPU 0 while it sleeps"
        assert (finding["where"]["gpu"], finding["confidence"]) == (0, "likely")
        assert "at 4 of 4 turns" in finding["explanation"]
    untold = any(each["id"] == "MEM025" and "no separate vLLM process" in each["reason"] for each in data["skipped"])
    assert untold == (role == "trainer" and marks)


def test_a_healthy_run_is_silent(tmp_path: Path) -> None:
    written(tmp_path, 2000, 8, lambda gpu, at_s: {
        **gpm(70 + 20 * ((at_s + gpu) % 7 > 3)), "sm_clock_mhz": 1900 + gpu, "throttle_reasons": "sw_power_cap",
        "memory_used_mib": 60000 + (at_s % 50), "ecc_uncorrected": 2, "pcie_width": 16, "pcie_width_max": 16,
    })  # fmt: skip
    assert report(str(tmp_path))["findings"] == []


def test_what_was_not_sampled_is_not_called_well(tmp_path: Path) -> None:
    table = RowFile(RunDir(tmp_path).host("n1"), columns.HOST, [f"schema {columns.HOST_SCHEMA}"])
    table.write([(Now(BEGIN_NS + number * 10**9, float(number)), {"cpu_pct": 50}) for number in range(20)])
    table.close()
    data = report(str(tmp_path))
    assert {each["reason"] for each in data["skipped"]} == {"no GPU was sampled"}
    assert "PRF011" in {each["id"] for each in data["skipped"]}
    assert "could not see everything" in doctor(str(tmp_path)).stdout


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    for name, active in (("a", 40), ("b", 60)):
        written(tmp_path / name, 50, 1, lambda _gpu, _at, active=active: gpm(active))
    shown = doctor("--compare", str(tmp_path / "a"), str(tmp_path / "b")).stdout
    assert re.search(r"SM active % +40\.00 +60\.00 +\+50 %", shown)
    rows = json.loads(doctor("--compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json").stdout)["rows"]
    assert {"what": "sm_active_pct", "first": 40.0, "second": 60.0} in rows
    assert doctor("--compare", str(tmp_path / "a")).returncode == 2


def turns(folder: Path, generation_s: int, update_pct: float) -> None:
    """Six turns of generation and update, of lengths that vary by a second."""
    run = written(folder, 6 * (generation_s + 30), 2, lambda gpu, at_s: {
        **gpm(30 if at_s % (generation_s + 30) < generation_s else update_pct + at_s % 3),
        "sm_clock_mhz": 1900 - 5 * gpu, "memory_used_mib": 40000,
    })  # fmt: skip
    begin = 0.0
    for turn in range(6):
        for name, seconds in (("generation", generation_s + turn % 2), ("update", 30 - turn % 2)):
            event(run, begin, "phase", rank=0, name=name, edge="begin")
            begin += seconds
            event(run, begin, "phase", rank=0, name=name, edge="end")


def test_what_changed_by_more_than_chance_is_told_by_phase_and_card(tmp_path: Path) -> None:
    turns(tmp_path / "a", 50, 80)
    turns(tmp_path / "b", 35, 80)
    turns(tmp_path / "c", 50, 80.5)
    page = tmp_path / "x.html"
    done = doctor("--compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json", "--html", str(page))
    changed = {(each["kind"], each["name"], each["figure"]) for each in json.loads(done.stdout)["changed"]}
    assert changed == {("phase", "generation", "seconds_a_turn")}
    shown = doctor("--compare", str(tmp_path / "a"), str(tmp_path / "b")).stdout
    assert re.search(r"by more than chance:\n.*\nphase generation +seconds per turn +50\.5 +35\.5 +-30 %", shown)
    assert "phase generation" in page.read_text()
    assert "Nothing changed by more" in doctor("--compare", str(tmp_path / "a"), str(tmp_path / "c")).stdout


PROBE = """<script>addEventListener('load', () => setTimeout(() => {
  const plots = window.doctorPlots, before = plots[0].scales.x.max - plots[0].scales.x.min;
  const over = plots[0].over, box = over.getBoundingClientRect();
  const send = (kind, x, to) => to.dispatchEvent(new MouseEvent(kind,
    {clientX: box.left + x, clientY: box.top + 40, movementX: 20, movementY: 1, bubbles: true, button: 0}));
  send('mouseenter', 40, over); send('mousemove', 40, over); send('mousedown', 40, over);
  send('mousemove', 90, over); send('mousemove', 140, over); send('mouseup', 140, over);
  setTimeout(() => {
    const after = plots[0].scales.x.max - plots[0].scales.x.min;
    document.title = `plots ${plots.length} zoomed ${after < before / 2} ` +
      `fits ${document.documentElement.scrollWidth <= document.documentElement.clientWidth}`;
  }, 300);
}, 300));</script></body>"""


@pytest.mark.process
def test_the_page_draws_and_zooms_in_a_browser(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    run = written(tmp_path, 3000, 8, lambda gpu, at_s: {**gpm((at_s * (gpu + 1)) % 97), "power_w": 300 + at_s % 50})
    event(run, 30, "gpu", what="xid", gpu=1, xid=79)
    page = tmp_path / "report.html"
    assert doctor(str(tmp_path), "--html", str(page)).returncode == 0
    text = page.read_text()
    assert not re.search(r'(src|href)="', text)
    assert len(text) < 3_000_000
    page.write_text(text.replace("</body>", PROBE))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--window-size=500,900", "--virtual-time-budget=4000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    title = re.search(r"<title>(plots[^<]*)</title>", done.stdout)
    assert title is not None, done.stderr[-2000:]
    assert title[1] == "plots 2 zoomed true fits true"
    assert "CONSOLE" not in done.stderr


@pytest.mark.parametrize("language", ["en", "zh"])
def test_figures_stay_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("COLUMNS", "48")
    out = doctor(str(Path(__file__).parent / "samples/query.csv"), "--lang", language).stdout
    rows = [line.split() for line in out.splitlines() if line.startswith(("0 ", "1 "))]
    assert [row[-2:] for row in rows] == [["0.0", "s"], ["0.0", "s"]], out
    assert rows[0][3] == "20,125", out
    assert max(map(len, out.partition("\n\n")[0].splitlines())) <= 48, out


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [46, 56, 64, 80])
def test_heads_are_folded_between_words(width: int, language: str) -> None:
    told = {key: 50.0 for _, key, _ in usage_report.COLUMNS}
    usage = {"gpus": [{**told, "label": "0", "roles": [], "activity_from": "sm_active_pct"}], "phases": []}
    usage |= {"hosts_left_out": 0, "gpu_hours": 1.0, "idle_gpu_hours": 0.5}
    screen = Console(file=io.StringIO(), width=width, color_system=None)
    usage_report.draw_usage(usage, screen, language)
    head = screen.file.getvalue().partition("\n0 ")[0].split()  # type: ignore[attr-defined]
    words = {word for name, _, _ in usage_report.COLUMNS for word in usage_report.WORDS[language][name].split()}
    assert set(head) <= {*words, "GPU"}, head
    assert {"SM", "MiB"} <= set(head)
