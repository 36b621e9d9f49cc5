"""GPUs through the real nvidia-ml-py, in child processes whose NVML is the stand-in of tests/nvml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import doctor
from doctor.facts.gpus import Gpu, GpuProcess, Gpus, MigDevice
from doctor.readers.machine import gpu_processes
from doctor.readers.machine import nvml as _nvml
from tests.nvml import build_standin, read_counts, scenario_env, shared_directory

pytestmark = pytest.mark.process

_CHILD = """
from doctor.readers.machine import gpus, nvidia
from doctor.base.fact import Context, Unavailable
try:
    found = gpus.collect(Context())
except Unavailable as reason:
    print(repr(("unavailable", str(reason), nvidia.collect(Context(), None).nvml_error)))
else:
    print(repr(found))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return build_standin(shared_directory(tmp_path_factory))


def child(environ: dict[str, str]):
    """What `collect` gives under an environment."""
    paths = [str(Path(doctor.__file__).parents[1]), environ.get("PYTHONPATH", "")]
    environ = {**environ, "PYTHONPATH": ":".join(path for path in paths if path)}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    names = {kind.__name__: kind for kind in (Gpu, GpuProcess, Gpus, MigDevice)}
    return eval(done.stdout, names)  # noqa: S307 - the repr of our own frozen dataclasses


@pytest.fixture
def read(library):
    def collect(scenario: str, **extra: str) -> Gpus:
        return child(scenario_env(library, scenario, **extra))

    return collect


def test_eight_h100_with_all_that_they_report(read, tmp_path):
    counts = tmp_path / "counts"
    found = read("h100x8", DOCTOR_NVML_COUNTS=str(counts))
    assert (found.driver_version, found.cuda_driver_version, len(found.gpus)) == ("550.54.15", "12.4", 8)
    first = found.gpus[0]
    assert (first.name, first.compute_capability) == ("NVIDIA H100 80GB HBM3", (9, 0))
    assert first.uuid.startswith("GPU-")
    assert first.memory_total_bytes == 81559 << 20
    assert (first.ecc_enabled, first.ecc_uncorrected, first.row_remap_pending) == (True, 0, False)
    assert (first.nvlinks_active, first.nvlinks_inactive) == (18, 0)
    assert (first.pcie_generation, first.pcie_width, first.pcie_width_max) == (5, 16, 16)
    assert (first.power_limit_w, first.compute_mode, first.persistence_mode) == (700.0, "default", True)
    assert (first.mig_enabled, first.mig_devices, first.processes, first.error) == (False, (), (), None)
    assert len(found.peer_access) == 28
    assert all(reads for _, _, reads in found.peer_access)
    assert first.label == "GPU 0 (NVIDIA H100 80GB HBM3)"
    called = read_counts(counts)
    slow = ("GraphicsRunningProcesses", "PcieThroughput", "FanSpeed", "UtilizationRates")
    assert not [name for name in called if any(word in name for word in slow)]
    assert called["nvmlInitWithFlags"] == 1


def test_mig_instances_with_profile_and_memory(read):
    first, second = read("h100x8-mig").gpus[:2]
    assert (first.mig_enabled, second.mig_enabled) == (True, False)
    assert [each.profile for each in first.mig_devices] == ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]
    assert first.mig_devices[0].memory_total_bytes == 40448 << 20
    assert len({each.uuid for each in first.mig_devices}) == 4
    assert all(each.uuid.startswith("MIG-") for each in first.mig_devices)
    assert [(each.pid, each.used_bytes) for each in first.processes] == [(4100, 9000 << 20)]


def test_bad_memory(read):
    gpus = read("ecc-and-remap").gpus
    assert [gpu.ecc_uncorrected for gpu in gpus] == [0, 2, 1, 0, 0, 0, 0, 0]
    assert [gpu.index for gpu in gpus if gpu.row_remap_pending] == [1]
    assert [gpu.index for gpu in gpus if gpu.row_remap_failure] == [2]
    assert gpus[6].rows_remapped_uncorrectable == 1


def test_v100_does_not_know_row_remapping(read):
    found = read("v100")
    assert {gpu.rows_remapped_uncorrectable for gpu in found.gpus} == {None}
    assert found.gpus[0].retired_pages_pending is False
    assert found.gpus[0].nvlinks_active == 6
    reads = {(one, other): ok for one, other, ok in found.peer_access}
    assert reads[0, 1] is True
    assert reads[0, 7] is False  # a hybrid cube mesh joins only some
    assert found.silent_about("row_remap_pending") == tuple(range(8))


def test_a_lost_gpu_is_named_and_the_others_go_on(read):
    gpus = read("lost-halfway").gpus
    assert [gpu.index for gpu in gpus if gpu.error] == [3]
    assert "fell off the bus" in gpus[3].error
    assert gpus[3].name == "NVIDIA A100-SXM4-80GB"  # read before it went
    assert gpus[3].processes is None
    assert all(gpu.processes == () and gpu.pcie_width == 16 for gpu in gpus if gpu.index != 3)


def test_a_gpu_that_is_gone_from_the_start(read):
    found = read("include = a100.ini\n[gpu 5]\nlost_after_calls = 0\n")
    assert "fell off the bus" in found.gpus[5].error
    assert found.gpus[5].uuid is None
    assert len(found.gpus) == 8
    assert not [pair for pair in found.peer_access if 5 in pair[:2]]


def test_a_gpu_that_waits_for_a_reset(read):
    gpus = read("include = a100.ini\n[calls]\nnvmlDeviceGetMemoryInfo_v2 = code=RESET_REQUIRED gpu=2\n").gpus
    assert "reset" in gpus[2].error
    assert [gpu.index for gpu in gpus if gpu.error] == [2]


def test_a_gpu_that_may_not_be_opened(read):
    gpus = read("include = a100.ini\n[calls]\nnvmlDeviceGetHandleByIndex_v2 = code=NO_PERMISSION gpu=1\n").gpus
    assert "may not be opened" in gpus[1].error
    assert gpus[2].error is None


def test_old_driver_without_the_newer_functions(read):
    found = read(
        "include = busy-memory.ini\n[calls]\n"
        "nvmlDeviceGetMemoryInfo_v2 = code=FUNCTION_NOT_FOUND\n"
        "nvmlDeviceGetComputeRunningProcesses_v3 = code=FUNCTION_NOT_FOUND\n"
        "nvmlDeviceGetCurrentClocksEventReasons = code=FUNCTION_NOT_FOUND\n"
        "nvmlDeviceGetRemappedRows = code=FUNCTION_NOT_FOUND\n"
        "nvmlDeviceGetMigMode = code=FUNCTION_NOT_FOUND\n"
        "nvmlDeviceGetTemperature = code=FUNCTION_NOT_FOUND\n"
    )
    first = found.gpus[0]
    assert first.error is None
    assert first.memory_total_bytes == 81920 << 20
    # version 1 counts the driver's reserve as used
    assert first.memory_used_bytes + first.memory_free_bytes == first.memory_total_bytes
    assert [each.pid for each in first.processes] == [31337]
    assert first.throttle_reasons == ("gpu_idle",)
    assert first.temperature_c == 31
    assert (first.row_remap_pending, first.mig_enabled) == (None, None)


@pytest.mark.parametrize(("driver", "known"), [("535.54.03", False), ("535.86.10", False), ("535.98", True)])
def test_drivers_that_report_processes_wrongly_are_not_believed(read, driver, known):
    first = read(f"include = busy-memory.ini\n[system]\ndriver = {driver}\n").gpus[0]
    assert (first.processes is not None) is known


def test_memory_that_others_hold(read):
    gpus = read("busy-memory").gpus
    assert (gpus[0].memory_used_bytes, gpus[0].processes[0].used_bytes) == (73728 << 20, 73720 << 20)
    assert gpus[1].processes[0].used_bytes is None
    assert gpus[2].processes == ()


def test_a_process_that_can_be_seen_is_described(read):
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            found = read(f"include = a100.ini\n[gpu 0]\nprocess = pid={process.pid} bytes=5MiB\n")
        finally:
            process.kill()
    (one,) = found.gpus[0].processes
    if not gpu_processes._ids_are_ours(Path("/proc")):
        assert one.name is None  # in a container a pid without an NVIDIA device is somebody else's
        return
    assert (one.name, one.command, one.is_mine, one.parent_pid) == ("sleep", "sleep 60", True, os.getpid())


def process_tree(proc: Path, pid: int, *, namespace: str, device: str = "") -> Path:
    own = proc / str(pid)
    (own / "fd").mkdir(parents=True)
    (own / "status").write_text(f"Name:\tpython3\nPPid:\t1\nUid:\t{os.getuid()}\t0\t0\t0\n")
    (own / "cmdline").write_bytes(b"python3\0train.py\0--hub_token\0hf_abcdefghijklmnop\0")
    (own / "fd" / "3").symlink_to(device or "/dev/null")
    (proc / "self" / "ns").mkdir(parents=True)
    (proc / "self" / "ns" / "pid").symlink_to(namespace)
    return proc


def test_orphans_show_by_their_parent_and_secrets_do_not_show(tmp_path):
    found = gpu_processes.describe(77, 5, process_tree(tmp_path, 77, namespace="pid:[4026531836]"))
    assert (found.name, found.parent_pid, found.is_mine) == ("python3", 1, True)
    assert found.command.startswith("python3 train.py")
    assert "hf_abc" not in found.command


@pytest.mark.parametrize(("device", "name"), [("/dev/nvidia0", "python3"), ("", None)])
def test_in_a_container_an_id_counts_only_with_a_gpu_open(tmp_path, device, name):
    found = gpu_processes.describe(77, 5, process_tree(tmp_path, 77, namespace="pid:[4026532770]", device=device))
    assert (found.pid, found.used_bytes, found.name) == (77, 5, name)


def test_wsl_reports_little_and_nothing_becomes_zero(read):
    (only,) = read("wsl-unsupported").gpus
    assert only.error is None
    assert only.name == "NVIDIA GeForce RTX 4090"
    assert (only.processes, only.throttle_reasons, only.ecc_enabled, only.ecc_uncorrected) == (None, None, None, None)
    assert (only.nvlinks_active, only.mig_enabled) == (None, None)


def test_two_4090_have_no_peer_access(read):
    assert read("rtx4090x2").peer_access == ((0, 1, False),)


def test_throttling_power_and_link(read):
    gpus = read("throttled").gpus
    assert gpus[2].throttle_reasons == ("hw_slowdown", "hw_thermal_slowdown")
    assert gpus[4].throttle_reasons == ("hw_slowdown", "hw_power_brake_slowdown")
    assert (gpus[5].power_limit_w, gpus[5].power_limit_default_w) == (200.0, 400.0)
    narrow = read("pcie-narrow").gpus
    assert (narrow[6].pcie_width, narrow[6].pcie_width_max) == (4, 16)
    assert (narrow[7].pcie_generation, narrow[7].pcie_generation_max) == (1, 4)


def test_a_driver_without_gpus(read):
    assert read("zero-gpus").gpus == ()


@pytest.mark.parametrize(
    ("scenario", "reason", "text"),
    [
        ("version-mismatch", "driver/library version mismatch", "version mismatch"),
        ("driver-not-loaded", "kernel module is not loaded", "Driver Not Loaded"),
        ("include = a100.ini\n[calls]\nnvmlInit* = code=NO_PERMISSION\n", "permissions of", "Insufficient Permissions"),
        ("include = a100.ini\n[calls]\nnvmlInit* = code=UNKNOWN\n", "cannot be initialised", "Unknown Error"),
    ],
)
def test_why_there_is_no_nvml(read, scenario, reason, text):
    status, told, nvml_error = read(scenario)
    assert status == "unavailable"
    assert reason in told
    assert text in nvml_error


def test_no_library_at_all():
    environ = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    found = child(environ)
    if isinstance(found, Gpus):
        pytest.skip("this machine has an NVIDIA driver")
    assert "`libnvidia-ml.so.1` cannot be loaded" in found[1]
    assert found[2] == "NVML Shared Library Not Found"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not NVIDIA's binding"),
        ("NVMLError = Exception\ndef nvmlInit(): pass\n", "is the unofficial package"),
        ("NVMLError = Exception\ndef nvmlInit(): pass\n_nvmlGetFunctionPointer = 1\n", "is too old"),
        ("raise ImportError('broken')\n", "not installed"),
    ],
)
def test_a_namesake_of_the_binding(library, tmp_path, text, reason):
    (tmp_path / "pynvml").mkdir()
    (tmp_path / "pynvml" / "__init__.py").write_text(text)
    paths = f"{tmp_path}:{Path(doctor.__file__).parents[1]}"
    environ = scenario_env(library, "a100", PYTHONPATH=paths)
    done = subprocess.run([sys.executable, "-c", _CHILD], env=environ, capture_output=True, text=True, check=True)
    assert reason in done.stdout


def test_a_question_that_the_binding_does_not_know_is_none():
    class Old(Exception):  # noqa: N818
        value = 13

    nvml = _nvml.Nvml(SimpleNamespace(NVMLError=Old, NVML_P2P_CAPS_INDEX_READ=(0,)))
    assert nvml.query("nvmlDeviceGetSomethingNew", 1) is None
    assert nvml.constant("NVML_P2P_CAPS_INDEX_READ", 0) == 0
    assert nvml.constant("absent", 7) == 7


def test_the_bindings_unversioned_names_raise_outside_of_their_own_errors():
    class Mismatch(Exception):  # noqa: N818
        pass

    def ask(_handle):
        raise Mismatch

    module = SimpleNamespace(NVMLError=ArithmeticError, NVMLLibraryMismatchError=Mismatch, nvmlDeviceGetX=ask)
    assert _nvml.Nvml(module).ask("nvmlDeviceGetX", 1) == (None, _nvml.FUNCTION_NOT_FOUND)


def test_that_report_leaves_out_the_silent():
    gpus = Gpus(gpus=(Gpu(0, temperature_c=30), Gpu(1)))
    assert [gpu.index for gpu in gpus.that_report("temperature_c")] == [0]
    assert gpus.silent_about("temperature_c") == (1,)
    assert Gpu(1).label == "GPU 1"
