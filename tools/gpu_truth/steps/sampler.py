"""The sampler over loads whose truth is known: true SM activity, agreement with `nvidia-smi`, what it costs itself."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, mean, program, relative, step

from doctor.run.folder import RunDir, read_rows

SECONDS = 6
#: at the edges of a load a window of the driver belongs to two of them
EDGE_S = 1.2
SMI = ("nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw.instant,clocks.sm,temperature.gpu",
       "--format=csv,noheader,nounits", "-lms", "200", "-i", "0")  # fmt: skip
DMON = ("nvidia-smi", "dmon", "-s", "pum", "-d", "1", "-i", "0")
#: share of active SMs by NVIDIA's own daemon, field 1002: https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html
DCGM = ("dcgmi", "dmon", "-e", "1002", "-d", "1000", "-i", "0")
#: of dmon's columns -> ours
OF_DMON = {"pwr": "power_w", "sm": "gpu_busy_pct", "fb": "memory_used_mib", "gtemp": "temperature_c"}
#: loads on which we and NVIDIA's programs are compared
COMPARED = ("idle", "one SM", "sixteen SMs", "products")
#: loads whose share of active SMs is known beforehand; the last two need Triton
TRUE_LOADS = ("one SM", "sixteen SMs", "one SM, half of the time", "half of the SMs", "all SMs")
#: the user without rights of most systems
NOBODY = 65534
#: what the stand-in is told to do, and what the sampler should therefore see: (seconds, SM share, busy)
SCRIPTED = ((3.0, 0.0, 0.0), (6.0, 0.25, 1.0), (6.0, 0.9, 1.0))


class Watched:
    """Our rows of a run, and what the loads were."""

    def __init__(self, folder: Path, loads: dict[str, dict[str, Any]]) -> None:
        (self.path,) = (folder / "doctor-runs").glob("2*")  # beside the link to it
        self.loads = loads
        self.rows = list(read_rows(RunDir(self.path).gpu()))
        self.host = list(read_rows(RunDir(self.path).host()))

    def inside(self, name: str, at_s: float) -> bool:
        """Whether a moment lies in the middle of a load."""
        load = self.loads[name]
        return bool(load["begin_s"] + EDGE_S < at_s < load["end_s"] - 0.1)

    def mean(self, name: str, column: str) -> float | None:
        """Of a column, in the middle of a load, on the first GPU."""
        rows = (row for row in self.rows if row["gpu"] in ("0", 0) and row[column])
        return mean(float(row[column]) for row in rows if self.inside(name, int(row["t_ns"]) / 1e9))

    @property
    def core_share(self) -> float:
        """CPU of the sampler as a share of a core, between its first and last row."""
        first, last = self.host[0], self.host[-1]
        seconds = float(last["mono_s"]) - float(first["mono_s"])
        return (float(last["sampler_cpu_s"]) - float(first["sampler_cpu_s"])) / seconds


def run(bench: Bench) -> None:
    """Loads on the card, or the scripted card; then what an ordinary user sees of it."""
    if bench.on_card:
        of_the_card(bench)
    else:
        of_the_stand_in(bench)
    unprivileged(bench)


def monitored(bench: Bench, command: list[str], *words: str, **more: str) -> str:
    """Standard output of a command under `doctor monitor`."""
    told = bench.doctor("monitor", "--during-run", "--no-live", *words, "--", *command, limit_s=150, **more)
    if told.returncode:
        raise RuntimeError(told.stderr.strip().splitlines()[-1] if told.stderr.strip() else "the load failed")
    return told.stdout


def of_the_card(bench: Bench) -> None:
    """Spinning kernels on one and sixteen SMs, products, copies, transfers; `nvidia-smi` beside it."""
    beside = Beside()
    try:
        out = monitored(bench, program("loads.py", str(SECONDS)), "--gpus", "0", "--interval", "100ms")
    finally:
        beside.stop(bench.folder)
    loads = {(told := json.loads(line))["name"]: told for line in out.splitlines() if line.startswith("{")}
    seen = Watched(bench.folder, loads)
    truth(bench, seen)
    agreement(bench, seen, beside)
    bandwidth(bench, seen)
    pace(bench, seen)
    costs(bench)


def truth(bench: Bench, seen: Watched) -> None:
    """Active SMs of kernels that hold a known number of them."""
    if not any(row["sm_active_pct"] for row in seen.rows):
        bench.without("this card has no GPM counters (before Hopper)", "sm_error_worst", "products_sm_pct")
        return
    known = [name for name in TRUE_LOADS if name in seen.loads]
    if len(known) < len(TRUE_LOADS):
        bench.measures["loads_left_out"] = "half of the SMs and all of them: no Triton"
    shares = {name: (seen.mean(name, "sm_active_pct"), 100 * seen.loads[name]["sm"]) for name in known}
    bench.measures["sm_active_measured_and_true_pct"] = shares
    bench.measures["sm_error_worst"] = max(abs(relative(ours, true)) for ours, true in shares.values() if ours)
    bench.measures |= {
        "products_sm_pct": seen.mean("products", "sm_active_pct"),
        "products_tensor_pct": seen.mean("products", "tensor_active_pct"),
        "copies_dram_pct": seen.mean("copies", "dram_active_pct"),
        "one_sm_busy_pct": seen.mean("one SM", "gpu_busy_pct"),
        "idle_sm_pct": seen.mean("idle", "sm_active_pct"),
    }


class Beside:
    """`nvidia-smi`, its dmon and DCGM's where there is one, read while the loads run."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, list[float]]] = []
        self.dmon: list[tuple[float, str]] = []
        self.dcgm: list[tuple[float, str]] = []
        asked = {SMI: self._row, DMON: self._line}
        if shutil.which(DCGM[0]):
            asked[DCGM] = lambda at_s, line: self.dcgm.append((at_s, line))
        self._running = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in asked]
        for process, keep in zip(self._running, asked.values(), strict=True):
            threading.Thread(target=self._read, args=(process, keep), daemon=True).start()

    def _read(self, process: subprocess.Popen[str], keep: Any) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            keep(time.time(), line)

    def _row(self, at_s: float, line: str) -> None:
        try:
            self.rows.append((at_s, [float(each) for each in line.split(",")]))
        except ValueError:
            return  # "[N/A]": the driver does not tell it

    def _line(self, at_s: float, line: str) -> None:
        self.dmon.append((at_s, line))

    def stop(self, folder: Path) -> None:
        """End both, keep what they said."""
        for each in self._running:
            each.kill()
            each.wait()
        (folder / "dmon.txt").write_text("".join(line for _, line in self.dmon))
        (folder / "dcgm.txt").write_text("".join(line for _, line in self.dcgm))


def table_of_dmon(lines: list[tuple[float, str]]) -> list[tuple[float, dict[str, float]]]:
    """Rows of `nvidia-smi dmon` by our columns; what it cannot tell ("-") is left out.

    The first line that begins with `# gpu` names its columns: https://docs.nvidia.com/deploy/nvidia-smi/index.html
    """
    names: list[str] = []
    found = []
    for at_s, line in lines:
        if line.startswith("#"):
            words = line.lstrip("# ").split()
            names = words if words[:1] == ["gpu"] else names
            continue
        cells = dict(zip(names, line.split(), strict=False))
        numbers = {ours: cells[theirs] for theirs, ours in OF_DMON.items() if theirs in cells}
        found.append((at_s, {name: float(each) for name, each in numbers.items() if each.replace(".", "").isdigit()}))
    return found


def shares_of_dcgm(lines: list[tuple[float, str]]) -> list[tuple[float, float]]:
    """Active SMs in %, of lines like `GPU 0   0.123`; others and those without a figure are left out."""
    found = []
    for at_s, line in lines:
        words = line.split()
        if words[:1] == ["GPU"] and len(words) == 3 and words[2].replace(".", "").isdigit():
            found.append((at_s, 100 * float(words[2])))
    return found


def agreement(bench: Bench, seen: Watched, beside: Beside) -> None:
    """The largest differences over four loads to nvidia-smi, to its dmon, and to DCGM."""
    of_smi(bench, seen, beside)
    rows = table_of_dmon(beside.dmon)
    bench.measures["differences_to_dmon"] = {
        column: differs(seen, column, [(at_s, cells[column]) for at_s, cells in rows if column in cells])
        for column in OF_DMON.values()
    }
    shares = shares_of_dcgm(beside.dcgm)
    difference = differs(seen, "sm_active_pct", shares)
    if difference is None:
        why = "dcgmi told no share of active SMs" if beside.dcgm else "DCGM is not installed"
        bench.without(why, "dcgm_difference_points")
    else:
        bench.measures["dcgm_difference_points"] = difference


def differs(seen: Watched, column: str, theirs: list[tuple[float, float]]) -> float | None:
    """The largest difference of the means over the loads; None where one side says nothing."""
    found = []
    for name in COMPARED:
        other = mean(value for at_s, value in theirs if seen.inside(name, at_s))
        ours = seen.mean(name, column)
        if other is not None and ours is not None:
            found.append(abs(ours - other))
    return max(found, default=None)


def of_smi(bench: Bench, seen: Watched, beside: Beside) -> None:
    """The largest difference to nvidia-smi's queries of each figure."""
    columns = ("gpu_busy_pct", "memory_used_mib", "power_w", "sm_clock_mhz", "temperature_c")
    worst: dict[str, float] = {}
    for name in COMPARED:
        for place, column in enumerate(columns):
            theirs = mean(cells[place] for at_s, cells in beside.rows if seen.inside(name, at_s))
            ours = seen.mean(name, column)
            if theirs is not None and ours is not None:
                worst[column] = max(worst.get(column, 0.0), abs(ours - theirs))
    bench.measures["differences_to_nvidia_smi"] = worst
    if "gpu_busy_pct" in worst:
        bench.measures["busy_difference_points"] = worst["gpu_busy_pct"]


def bandwidth(bench: Bench, seen: Watched) -> None:
    """Bytes over PCIe against those that were sent."""
    load = seen.loads["from host"]
    sent_mib_s = 1024 * load["count"] / (load["end_s"] - load["begin_s"])
    if (received := seen.mean("from host", "pcie_rx_mib_s")) is not None:
        bench.measures["pcie_error"] = relative(received, sent_mib_s)


def pace(bench: Bench, seen: Watched) -> None:
    """Ticks, energy, and how often the figures are new."""
    powers = [(float(row["mono_s"]), float(row["power_w"])) for row in seen.rows if row["power_w"]]
    bench.measures["ticks_reached"] = (len(powers) - 1) * 0.1 / (powers[-1][0] - powers[0][0])
    energies = [(float(row["mono_s"]), float(row["energy_j"])) for row in seen.rows if row["energy_j"]]
    if len(energies) > 1:
        (first_s, first_j), (last_s, last_j) = energies[0], energies[-1]
        watts = statistics.fmean(power for at_s, power in powers if first_s <= at_s <= last_s)
        bench.measures["energy_error"] = relative(watts * (last_s - first_s), last_j - first_j)
    with_truth = [float(row["mono_s"]) for row in seen.rows if row["sm_active_pct"]]
    if len(with_truth) > 2:
        bench.measures["sm_rows_a_second"] = (len(with_truth) - 1) / (with_truth[-1] - with_truth[0])
    bench.measures["gpu_rows_a_second"] = (len(seen.rows) - 1) / (
        float(seen.rows[-1]["mono_s"]) - float(seen.rows[0]["mono_s"])
    )
    bench.measures["busy_sources"] = sorted({row["busy_source"] for row in seen.rows if row["busy_source"]})
    bench.measures["sm_sources"] = sorted({row["sm_source"] for row in seen.rows if row["sm_source"]})


def unprivileged(bench: Bench) -> None:
    """Which figures a user without rights gets: columns that have one, beside those that root gets."""
    if os.geteuid():
        bench.measures["columns_of_an_ordinary_user"] = columns(bench.folder)
        return
    with tempfile.TemporaryDirectory(prefix="doctor-gpu-truth-") as base:
        place = Bench(bench.device, Path(base) / "nobody")
        place.folder.mkdir()
        Path(base).chmod(0o755)
        environment = place.environment(HOME=str(place.folder), XDG_STATE_HOME=str(place.folder))
        for each in Path(base).rglob("*"):
            os.chown(each, NOBODY, NOBODY)
        command = [sys.executable, "-m", "doctor", "monitor", "--during-run", "--no-live", "--", "sleep", "6"]
        try:
            done = subprocess.run(
                command, cwd=place.folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
                user=NOBODY, group=NOBODY, extra_groups=[],
            )  # fmt: skip
        except PermissionError as error:
            bench.without(f"another user may not read {error.filename}", "columns_of_an_ordinary_user")
            return
        if done.returncode:
            last = (done.stderr.strip() or "it failed").splitlines()[-1]
            bench.without(f"as another user: {last}"[:200], "columns_of_an_ordinary_user")
            return
        bench.measures["columns_of_an_ordinary_user"] = columns(place.folder)


def columns(folder: Path) -> list[str]:
    """Columns that have a figure in any row of the newest run."""
    path = max((folder / "doctor-runs").glob("2*"))
    return sorted({name for row in read_rows(RunDir(path).gpu()) for name, cell in row.items() if cell})


def costs(bench: Bench) -> None:
    """CPU of the sampler at its own pace, and the step time of a training beside it, in turns."""
    quiet = Bench(bench.device, bench.folder / "cost")
    quiet.folder.mkdir(exist_ok=True)
    monitored(quiet, [sys.executable, "-c", "import time; time.sleep(25)"])
    bench.measures["core_pct"] = 100 * Watched(quiet.folder, {}).core_share
    told = bench.told(program("step_beside.py", "4"), limit_s=200)
    bench.measures["step_ms"] = told
    bench.measures["step_time_change_pct"] = 100 * relative(told["beside"], told["alone"])


def of_the_stand_in(bench: Bench) -> None:
    """The same reading of a card that a scenario describes."""
    moments, at_s, lines = [], 0.0, []
    for seconds, sm, busy in SCRIPTED:
        lines.append(f"activity = {at_s} busy={busy} sm={sm} power={100 + 500 * sm} memory=1GiB")
        moments.append((at_s, at_s + seconds, sm))
        at_s += seconds
    scenario = "include = h100x8.ini\n[gpu 0]\n" + "\n".join(lines) + "\n"
    sleep = [sys.executable, "-c", f"import time; time.sleep({at_s + 1})"]
    monitored(bench, sleep, "--gpus", "0", "--interval", "100ms", scenario=scenario)
    seen = Watched(bench.folder, {})
    first = float(seen.rows[0]["mono_s"])
    found = {}
    for begin, end, sm in moments[1:]:
        rows = [row for row in seen.rows if row["sm_active_pct"] and begin + 2 < float(row["mono_s"]) - first < end - 1]
        if (seen_pct := mean(float(row["sm_active_pct"]) for row in rows)) is not None:
            found[str(sm)] = (seen_pct, 100 * sm)
    bench.measures["sm_active_measured_and_true_pct"] = found
    if found:
        bench.measures["sm_error_worst"] = max(abs(relative(ours, true)) for ours, true in found.values())
    bench.measures["core_pct"] = 100 * seen.core_share
    pace(bench, seen)
    why = "the stand-in does no work"
    on_card = ("products_sm_pct", "products_tensor_pct", "copies_dram_pct", "one_sm_busy_pct", "pcie_error")
    bench.without(why, *on_card, "step_time_change_pct", "busy_difference_points", "dcgm_difference_points")


if __name__ == "__main__":
    step(run)
