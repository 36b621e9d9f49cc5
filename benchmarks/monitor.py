"""What sampling costs: CPU, achieved rate and jitter of the doctor's sampler beside gpustat, nvitop and plain polling.

    python benchmarks/monitor.py [--seconds 10] [--gpus 1 8] [--interval 0.1] [--busy]
    python benchmarks/monitor.py --real [--train]

All of them read the C stand-in of NVML (`tests/nvml`), which costs next to nothing itself: what is measured is the
client. `--busy` runs a spinning process per CPU beside them. gpustat and nvitop are measured when they are installed,
`nvidia-smi -lms` when there is one (it cannot read the stand-in).

`--real` reads the machine's own driver and all of its GPUs; the driver's work in the kernel counts as the client's.
`--train` also trains on the first GPU, in turns without and with the sampler beside it, and prints how much longer a
step lasts (needs a torch that sees the GPU).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.run.folder import RunDir, read_rows  # noqa: E402
from tests.nvml import build_standin, scenario_env  # noqa: E402

#: what a polling client does: a snapshot every interval; the moments go to standard output when it is done
POLL = """
import sys, time
{prepare}
period, end, at = {interval}, time.monotonic() + {seconds}, time.monotonic()
began, moments = time.process_time(), []
while at < end:
    if (pause := at - time.monotonic()) > 0: time.sleep(pause)
    moments.append(time.monotonic())
    {snapshot}
    at = max(at + period, time.monotonic() - period)
print(time.process_time() - began, *moments)
"""
COLLECTOR = """from nvitop import Device, ResourceMetricCollector
c = ResourceMetricCollector(Device.all(), interval={interval})
c.activate('x')"""
PLAIN = """import pynvml as n
n.nvmlInit()
h = [n.nvmlDeviceGetHandleByIndex(k) for k in range(n.nvmlDeviceGetCount())]
def read(x):
    return (n.nvmlDeviceGetUtilizationRates(x), n.nvmlDeviceGetMemoryInfo(x), n.nvmlDeviceGetPowerUsage(x),
            n.nvmlDeviceGetTemperature(x, 0), n.nvmlDeviceGetClockInfo(x, 1))"""
#: steps of a small transformer on the GPU: milliseconds of each, by the host's clock, to standard output
TRAIN = """
import sys, time, torch
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
batch = torch.randn(32, 512, 1024, device="cuda")
def step():
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16): loss = model(batch).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
for _ in range(10): step()
for line in sys.stdin:
    end = time.monotonic() + float(line)
    spent = []
    while time.monotonic() < end:
        began = time.perf_counter()
        step()
        spent.append(1000 * (time.perf_counter() - began))
    print(*spent, flush=True)
"""
#: name -> (module, what is done once, what is measured)
CLIENTS = {
    "gpustat": ("gpustat", "import gpustat", "gpustat.new_query()"),
    "nvitop": ("nvitop", "from nvitop import Device\nall_of = Device.all()", "[d.as_snapshot() for d in all_of]"),
    "nvitop collector": ("nvitop", COLLECTOR, "c.collect()"),
    "plain pynvml, 5 figures": ("pynvml", PLAIN, "[read(x) for x in h]"),
}


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--real", action="store_true", help="the machine's own NVML and GPUs")
    parser.add_argument("--train", action="store_true", help="with --real: how much slower is a training step?")
    chosen = parser.parse_args()
    heads = ("GPUs", "% of a core", "ms/sample", "reached", "late p50", "late p99")
    print("{:28} {:>4} {:>11} {:>9} {:>8} {:>9} {:>9}".format("sampler", *heads))
    with tempfile.TemporaryDirectory() as folder, load(chosen.busy):
        for gpus, env in machines(Path(folder), chosen):
            show("doctor monitor", gpus, chosen, *doctor(Path(folder) / f"run{gpus}", env, chosen))
            for name, (module, prepare, snapshot) in CLIENTS.items():
                if importlib.util.find_spec(module) is None:
                    print(f"{name:28} not installed")
                    continue
                show(name, gpus, chosen, *poll(prepare, snapshot, env, chosen))
    if shutil.which("nvidia-smi"):
        show("nvidia-smi -lms", 0, chosen, *smi(chosen))
    else:
        print("nvidia-smi                   not on this machine")
    if chosen.train:
        slow_down(chosen)


def machines(folder: Path, chosen: argparse.Namespace) -> Iterator[tuple[int, dict[str, str]]]:
    """How many GPUs there are, and the environment in which they are seen."""
    if chosen.real:
        import pynvml

        pynvml.nvmlInit()
        yield pynvml.nvmlDeviceGetCount(), dict(os.environ)
        return
    library = build_standin(folder)
    for gpus in chosen.gpus:
        scenario = f"include = h100x8.ini\n[system]\ngpus = {gpus}\n[gpu *]\nactivity = 0 busy=1 sm=0.5\n"
        yield gpus, scenario_env(library, scenario)


def slow_down(chosen: argparse.Namespace) -> None:
    """Print how much longer a training step lasts beside the sampler: without, with, with, without, and again."""
    training = subprocess.Popen(
        [sys.executable, "-c", TRAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    ratios, plain = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(4):
            turns = {name: [] for name in ("without", "with")}
            for place, name in enumerate(("without", "with", "with", "without")):
                beside = None if name == "without" else beside_training(Path(folder) / f"{number}-{place}", chosen)
                assert training.stdin is not None
                assert training.stdout is not None
                training.stdin.write(f"{chosen.seconds / 2}\n")
                steps = [float(each) for each in training.stdout.readline().split()]
                turns[name].append(statistics.fmean(steps))
                if beside is not None:
                    beside.terminate()
                    beside.wait()
            ratios.append(sum(turns["with"]) / sum(turns["without"]))
            plain += turns["without"]
    training.kill()
    training.wait()
    told = ", ".join(f"{100 * (each - 1):+.2f} %" for each in ratios)
    print(f"a training step of {statistics.fmean(plain):.1f} ms beside the sampler: {told}")


def beside_training(run: Path, chosen: argparse.Namespace) -> subprocess.Popen[bytes]:
    """The sampler, once it has its first samples."""
    run.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor.monitors.sampler.sampling", "--run", str(run), "--for-s", "600",
         "--interval", str(chosen.interval), "--watch", str(os.getpid())],
    )  # fmt: skip
    time.sleep(3)
    return process


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """A spinning process per CPU, where wanted."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1) if wanted
    ]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


Figures = tuple[float, list[float]]


def doctor(run: Path, env: dict[str, str], chosen: argparse.Namespace) -> Figures:
    """CPU of sampler and worker together, after their start; moments of the ticks of GPU 0."""
    run.mkdir()
    command = [
        sys.executable, "-m", "doctor.monitors.sampler.sampling", "--run", str(run), "--for-s", str(chosen.seconds + 4),
        "--interval", str(chosen.interval), "--watch", str(os.getpid()),
    ]  # fmt: skip
    subprocess.run(command, env=env, check=True)
    rows = list(read_rows(RunDir(run).host()))[3:]  # the start is not the running
    spent = float(rows[-1]["sampler_cpu_s"]) - float(rows[0]["sampler_cpu_s"])
    seconds = float(rows[-1]["mono_s"]) - float(rows[0]["mono_s"])
    ticks = [float(row["mono_s"]) for row in read_rows(RunDir(run).gpu()) if row["gpu"] == "0" and row["power_w"]]
    begin = float(rows[0]["mono_s"])
    return spent / seconds, [each for each in ticks if begin <= each <= begin + seconds]


def poll(prepare: str, snapshot: str, env: dict[str, str], chosen: argparse.Namespace) -> Figures:
    """CPU and moments of a polling client."""
    words = {"interval": chosen.interval, "seconds": chosen.seconds}
    code = POLL.format(prepare=prepare.format(**words), snapshot=snapshot, **words)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    spent, *moments = map(float, done.stdout.split())
    return spent / chosen.seconds, moments


def smi(chosen: argparse.Namespace) -> Figures:
    """CPU of nvidia-smi and the moments at which its lines came."""
    query = "timestamp,utilization.gpu,memory.used,power.draw"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv", f"-lms={int(chosen.interval * 1000)}"]
    before = os.times()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    end, moments = time.monotonic() + chosen.seconds, []
    assert process.stdout is not None
    while time.monotonic() < end and process.stdout.readline():
        moments.append(time.monotonic())
    process.kill()
    process.wait()
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent / chosen.seconds, moments


def show(name: str, gpus: int, chosen: argparse.Namespace, share: float, moments: list[float]) -> None:
    """One line of the table."""
    gaps = [later - earlier - chosen.interval for earlier, later in pairwise(moments)]
    late = sorted(abs(each) for each in gaps) or [0.0]
    wanted = (moments[-1] - moments[0]) / chosen.interval + 1 if moments else 1
    per_sample = 1000 * share * chosen.interval * wanted / max(1, len(moments))
    print(
        f"{name:28} {gpus or '-':>4} {100 * share:>11.2f} {per_sample:>9.2f} {100 * len(moments) / wanted:>7.0f}% "
        f"{1000 * statistics.median(late):>6.1f} ms {1000 * late[int(0.99 * (len(late) - 1))]:>6.1f} ms"
    )


if __name__ == "__main__":
    main()
