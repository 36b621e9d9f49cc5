"""The real sampler, over the real `pynvml`, on the NVML stand-in: several scenarios sampled at the same time, once."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.run.folder import RunDir, read_rows
from tests.nvml import build_standin, scenario_env, shared_directory
from tests.nvml.truth import Step, Truth, bursts

GIB = 1 << 30

#: of GPU 0 and GPU 1 of the Hopper scenario, and of the card without GPM
TRUTH = {0: bursts(1, 60), 1: bursts(2, 60)}
STATES = Truth(
    tuple(
        Step(
            2.0 * number,
            {
                "memory": (10 + 5 * number) * GIB, "sm_clock": 1980 - 30 * number, "temperature": 40 + number,
                "throttle": (0, 0x4, 0x48)[number % 3], "power": 100 + 50 * number, "busy": 0.5,
            },
        )
        for number in range(12)
    )
)  # fmt: skip

METRICS = """\
# HELP DCGM_FI_PROF_SM_ACTIVE The ratio of cycles an SM has at least 1 warp assigned.
# TYPE DCGM_FI_PROF_SM_ACTIVE gauge
DCGM_FI_PROF_SM_ACTIVE{{gpu="0",UUID="{uuid}0",device="nvidia0",modelName="A100, \\"80GB\\"",Hostname="n1"}} 0.253000
DCGM_FI_PROF_SM_ACTIVE{{gpu="1",UUID="{uuid}1",device="nvidia1",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7"}} 0.500000
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{gpu="0",UUID="{uuid}0"}} 0.125
DCGM_FI_DEV_MEMORY_TEMP{{gpu="0",UUID="{uuid}0"}} 9223372036854775794
DCGM_FI_PROF_DRAM_ACTIVE{{gpu="0",UUID="{uuid}0"}} 9223372036854775794
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_standin(shared_directory(tmp_path_factory))


def sampler(run: Path, env: dict[str, str], *options: str) -> subprocess.Popen[str]:
    """The sampler, with what it says on stderr."""
    command = [
        sys.executable,
        "-m",
        "doctor.monitors.sampler.sampling",
        "--run",
        str(run),
        "--watch",
        str(os.getpid()),
        *options,
    ]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


class _Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = METRICS.format(uuid=UUID_BEGINS).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


UUID_BEGINS = "GPU-d0c70000-0000-4000-8000-00000000000"


@pytest.fixture(scope="session")
def exporter() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exporter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
        server.shutdown()


def scenarios(exporter_url: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> (scenario, options of the worker)."""
    hopper = "include = h100x8.ini\n" + "".join(f"[gpu {k}]\n{truth.lines()}\n" for k, truth in TRUTH.items())
    gpu_2 = f"[gpu 2]\n{STATES.lines()}\nevent = at=3 xid=31\n"
    errors = "nvmlDeviceGetTemperature = code=NO_PERMISSION\nnvmlDeviceGetClockInfo = code=UNKNOWN after=10 calls=10\n"
    mig = "activity = 0 sm=0.5 busy=1\nactivity = 0 gi=2 sm=0.125\n"
    return {
        "hopper": (hopper + gpu_2, ("--gpus", "0,1,2")),
        "geforce": (f"include = rtx4090x2.ini\n[gpu 0]\n{TRUTH[0].lines()}\n", ("--dcgm", "none")),
        "dcgm": (f"include = a100.ini\n[gpu *]\n{STATES.lines()}\n", ("--dcgm", exporter_url, "--gpus", "0,1")),
        "lost": ("include = a100.ini\n[gpu 3]\nlost_at_s = 3\n", ("--dcgm", "none")),
        "errors": (f"include = a100.ini\n[calls]\n{errors}", ("--dcgm", "none", "--gpus", "0")),
        "mig": (f"include = h100x8-mig.ini\n[gpu 0]\n{mig}", ("--gpus", "0")),
    }


def worker(run: RunDir, env: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    """The process that reads the GPUs, alone; it ends when its standard output is closed."""
    words = ["--run", str(run.path), "--csv", str(run.gpu()), "--interval", "0.1", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "doctor.monitors.sampler.gpu_worker", *words],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(what: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"did not happen within {seconds} s"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def runs(folder: Path, exporter: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunDir]:
    """The run folder of each scenario, with eight seconds of figures."""
    found, started = {}, []
    for name, (scenario, options) in scenarios(exporter).items():
        found[name] = RunDir(tmp_path_factory.mktemp(name))
        started.append((name, worker(found[name], scenario_env(folder, scenario), *options)))
    for name, process in started:
        wait_for(lambda name=name: spanned_s(found[name].gpu()) > 8)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        assert (process.wait(30), said) == (0, b""), name
    return found


def spanned_s(csv: Path) -> float:
    """Seconds from the first to the last row."""
    stamps = [int(row["t_ns"]) for row in read_rows(csv)]
    return (max(stamps) - min(stamps)) / 1e9 if stamps else 0.0
