"""The stand-in as the real `pynvml` sees it: layouts, inventory, health, MIG, links, failures, counts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml import HERE, read_counts, scenario_env, scenario_names

pytestmark = pytest.mark.process

Ask = Callable[..., Any]

LAYOUTS = {
    "nvmlPciInfo_t": "nvmlPciInfo_t",
    "nvmlMemory_t": "c_nvmlMemory_t",
    "nvmlMemory_v2_t": "c_nvmlMemory_v2_t",
    "nvmlBAR1Memory_t": "c_nvmlBAR1Memory_t",
    "nvmlUtilization_t": "c_nvmlUtilization_t",
    "nvmlProcessInfo_v2_t": "c_nvmlProcessInfo_v3_t",
    "nvmlDeviceAttributes_t": "c_nvmlDeviceAttributes",
    "nvmlRowRemapperHistogramValues_t": "c_nvmlRowRemapperHistogramValues",
    "nvmlTemperature_v1_t": "c_nvmlTemperature_v1_t",
    "nvmlSample_t": "c_nvmlSample_t",
    "nvmlViolationTime_t": "c_nvmlViolationTime_t",
    "nvmlFieldValue_t": "c_nvmlFieldValue_t",
    "nvmlProcessUtilizationSample_t": "c_nvmlProcessUtilizationSample_t",
    "nvmlEventData_t": "c_nvmlEventData_t",
    "nvmlGpmMetric_t": "c_nvmlGpmMetric_t",
    "nvmlGpmMetricsGet_t": "c_nvmlGpmMetricsGet_t",
    "nvmlGpmSupport_t": "c_nvmlGpmSupport_t",
}


def test_structures_have_the_layout_of_the_binding(tmp_path: Path, folder: Path) -> None:
    pynvml = pytest.importorskip("pynvml")
    assert folder.is_dir()  # there is a compiler
    theirs, lines = [], []
    for ours, name in LAYOUTS.items():
        for field in getattr(pynvml, name)._fields_:
            member = getattr(getattr(pynvml, name), field[0])
            size = 0 if field[0] == "metrics" else member.size  # the array without a bound
            theirs.append(f"{ours}.{field[0]} {member.offset} {size}")
            measured = "(size_t)0" if size == 0 else f"sizeof((({ours} *)0)->{field[0]})"
            lines.append(f'printf("{ours}.{field[0]} %zu %zu\\n", offsetof({ours}, {field[0]}), {measured});')
    source = tmp_path / "layout.c"
    body = "\n".join(lines)
    source.write_text(f'#include "nvml_abi.h"\n#include <stdio.h>\nint main(void) {{\n{body}\nreturn 0; }}\n')
    program = tmp_path / "layout"
    subprocess.run(["cc", "-I", str(HERE / "standin"), "-o", str(program), str(source)], check=True)
    ours_printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert ours_printed.splitlines() == theirs


MODELS = {
    # scenario: (count, name, compute capability, total bytes, driver, CUDA)
    "v100": (8, "Tesla V100-SXM2-32GB", [7, 0], 34359738368, "535.183.01", 12020),
    "t4": (1, "Tesla T4", [7, 5], 16106127360, "550.54.15", 12040),
    "a100": (8, "NVIDIA A100-SXM4-80GB", [8, 0], 85899345920, "535.129.03", 12020),
    "rtx4090x2": (2, "NVIDIA GeForce RTX 4090", [8, 9], 25757220864, "535.183.01", 12020),
    "h20": (8, "NVIDIA H20", [9, 0], 102625181696, "550.127.05", 12040),
    "h100x8": (8, "NVIDIA H100 80GB HBM3", [9, 0], 85520809984, "550.54.15", 12040),
    "h200x8": (8, "NVIDIA H200", [9, 0], 150754820096, "570.124.06", 12080),
    "rtx5090": (1, "NVIDIA GeForce RTX 5090", [12, 0], 34190917632, "570.124.06", 12080),
}


@pytest.mark.parametrize("scenario", sorted(MODELS))
def test_model(ask: Ask, scenario: str) -> None:
    out = ask(
        scenario,
        """
        h = gpus()[-1]
        v1, v2 = n.nvmlDeviceGetMemoryInfo(h), n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2)
        out["model"] = [len(gpus()), n.nvmlDeviceGetName(h), list(n.nvmlDeviceGetCudaComputeCapability(h)),
                        v1.total, n.nvmlSystemGetDriverVersion(), n.nvmlSystemGetCudaDriverVersion_v2()]
        out["memory"] = [v1.used + v1.free == v1.total, v2.used + v2.free + v2.reserved == v2.total,
                         v1.used - v2.used == v2.reserved > 0]
        uuid, bus = n.nvmlDeviceGetUUID(h), n.nvmlDeviceGetPciInfo(h).busId
        same = [n.nvmlDeviceGetHandleByUUID(uuid), n.nvmlDeviceGetHandleByPciBusId(bus),
                n.nvmlDeviceGetHandleByPciBusId(bus[4:].lower())]
        out["same"] = [n.nvmlDeviceGetIndex(other) == len(gpus()) - 1 for other in same]
        out["distinct"] = len({n.nvmlDeviceGetUUID(g) for g in gpus()}) == len(gpus())
        out["sane"] = [n.nvmlDeviceGetPowerUsage(h) < n.nvmlDeviceGetEnforcedPowerLimit(h),
                       n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM) < n.nvmlDeviceGetMaxClockInfo(h, n.NVML_CLOCK_SM),
                       n.nvmlDeviceGetCurrPcieLinkGeneration(h) <= n.nvmlDeviceGetMaxPcieLinkGeneration(h)]
        out["beyond"] = q("nvmlDeviceGetHandleByIndex", len(gpus()))
    """,
    )
    assert tuple(out["model"]) == MODELS[scenario]
    assert all(out["memory"] + out["same"] + out["sane"] + [out["distinct"]])
    assert out["beyond"] == "InvalidArgument"


def test_every_scenario_can_be_read(ask: Ask) -> None:
    for name in scenario_names():
        out = ask(name, "out = [q('nvmlInit'), q('nvmlDeviceGetCount')]", init=False)
        assert out[0] in {None, "DriverNotLoaded", "LibRmVersionMismatch"}, name


def test_identity_and_modes(ask: Ask) -> None:
    out = ask(
        "t4",
        """
        h = gpus()[0]
        out = {name: q("nvmlDeviceGet" + name, h) for name in (
            "Architecture", "Brand", "MinorNumber", "PersistenceMode", "ComputeMode", "NumGpuCores", "Serial",
            "VirtualizationMode", "NumaNodeId", "FanSpeed", "MigMode", "MaxMigDeviceCount", "RemappedRows",
            "RetiredPagesPendingStatus", "PerformanceState", "MemoryBusWidth")}
        out["bar1"] = n.nvmlDeviceGetBAR1MemoryInfo(h).bar1Total
        out["limits"] = n.nvmlDeviceGetPowerManagementLimitConstraints(h)
        out["temperatures"] = [q("nvmlDeviceGetTemperature", h, 0), q("nvmlDeviceGetTemperatureV", h, 0)]
        out["slowdown"] = q("nvmlDeviceGetTemperatureThreshold", h, n.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
    """,
    )
    assert out == {
        "Architecture": 6,
        "Brand": 14,
        "MinorNumber": 0,
        "PersistenceMode": 0,
        "ComputeMode": 0,
        "NumGpuCores": 2560,
        "Serial": "NotSupported",
        "VirtualizationMode": 1,
        "NumaNodeId": "NotSupported",
        "FanSpeed": "NotSupported",
        "MigMode": "NotSupported",
        "MaxMigDeviceCount": 0,
        "RemappedRows": "NotSupported",
        "RetiredPagesPendingStatus": 0,
        "PerformanceState": 8,
        "MemoryBusWidth": 256,
        "bar1": 268435456,
        "limits": [60000, 70000],
        "temperatures": [41, 41],
        "slowdown": 93,
    }


def test_no_driver_mismatch_and_no_card(ask: Ask) -> None:
    code = "out = [q('nvmlInit'), q('nvmlSystemGetDriverVersion'), q('nvmlDeviceGetCount')]"
    assert ask("driver-not-loaded", code, init=False) == ["DriverNotLoaded", "Uninitialized", "Uninitialized"]
    assert ask("version-mismatch", code, init=False) == ["LibRmVersionMismatch", "Uninitialized", "Uninitialized"]
    assert ask("zero-gpus", code, init=False) == [None, "550.54.15", 0]


def test_nothing_works_after_shutdown(ask: Ask) -> None:
    out = ask(
        "t4",
        """
        n.nvmlInit()  # the second: the library counts them
        h = gpus()[0]
        for _ in range(2):
            n.nvmlShutdown()
            out[len(out)] = q("nvmlDeviceGetName", h)
        out = [*out.values(), q("nvmlShutdown")]
    """,
    )
    assert out == ["Tesla T4", "Uninitialized", "Uninitialized"]


def test_bad_memory(ask: Ask) -> None:
    out = ask(
        "ecc-and-remap",
        """
        for k, h in enumerate(gpus()):
            errors = [n.nvmlDeviceGetTotalEccErrors(h, kind, counter) for kind in (0, 1) for counter in (0, 1)]
            out[k] = [errors, n.nvmlDeviceGetRemappedRows(h)]
        h = gpus()[1]
        out["dram"] = n.nvmlDeviceGetMemoryErrorCounter(h, 1, 0, n.NVML_MEMORY_LOCATION_DRAM)
        out["sram"] = n.nvmlDeviceGetMemoryErrorCounter(h, 1, 0, n.NVML_MEMORY_LOCATION_SRAM)
        out["banks"] = n.nvmlDeviceGetRowRemapperHistogram(gpus()[2]).none
        out["fields"] = [(v.nvmlReturn, v.value.ullVal if v.valueType == 3 else v.value.uiVal)
                         for v in n.nvmlDeviceGetFieldValues(h, [4, 6, 143, 144, 145])]
    """,
    )
    assert out["0"] == [[0, 0, 0, 0], [0, 0, 0, 0]]
    assert out["1"] == [[0, 0, 2, 5], [0, 1, 1, 0]]
    assert out["2"] == [[0, 0, 1, 9], [0, 8, 0, 1]]
    assert out["5"] == [[31, 107, 0, 0], [0, 0, 0, 0]]
    assert out["6"] == [[0, 0, 0, 0], [2, 1, 0, 0]]
    assert (out["dram"], out["sram"], out["banks"]) == (2, 0, 1)
    assert out["fields"] == [[0, 2], [0, 5], [0, 1], [0, 1], [0, 0]]


def test_retired_pages(ask: Ask) -> None:
    scenario = """
        include = v100.ini
        [gpu 0]
        retired_pages_pending = 1
        retired_page = double 0x7f000 1700000000
        retired_page = single 0x11000
        retired_page = double 0x80000 1700000001
    """
    out = ask(
        scenario,
        """
        h = gpus()[0]
        out = [n.nvmlDeviceGetRetiredPages(h, 0), n.nvmlDeviceGetRetiredPages(h, 1),
               n.nvmlDeviceGetRetiredPages_v2(h, 1), n.nvmlDeviceGetRetiredPagesPendingStatus(h),
               n.nvmlDeviceGetRetiredPages(gpus()[1], 1)]
    """,
    )
    assert out[:2] == [[0x11000], [0x7F000, 0x80000]]
    assert out[2][0] == {"address": 0x7F000, "timestamp": 1700000000}
    assert out[3:] == [1, []]


def test_throttled_and_narrow(ask: Ask) -> None:
    reasons = "out = [n.nvmlDeviceGetCurrentClocksEventReasons(h) for h in gpus()]"
    assert ask("throttled", reasons) == [4, 4, 0x48, 4, 0x88, 4, 4, 4]
    old_name = reasons.replace("EventReasons", "ThrottleReasons")
    assert ask("throttled", old_name)[2] == 0x48
    out = ask(
        "pcie-narrow",
        """
        out = [[n.nvmlDeviceGetCurrPcieLinkWidth(h), n.nvmlDeviceGetMaxPcieLinkWidth(h),
                n.nvmlDeviceGetCurrPcieLinkGeneration(h), n.nvmlDeviceGetPcieReplayCounter(h)] for h in gpus()]
    """,
    )
    assert out[0] == [16, 16, 1, 0]
    assert out[6] == [4, 16, 4, 81234]
    assert out[7] == [16, 16, 1, 0]


def test_processes(ask: Ask) -> None:
    out = ask(
        "busy-memory",
        """
        def rows(found):
            return [[p.pid, p.usedGpuMemory, p.gpuInstanceId] for p in found]
        for k, h in enumerate(gpus()[:4]):
            out[k] = [rows(n.nvmlDeviceGetComputeRunningProcesses(h)), rows(n.nvmlDeviceGetGraphicsRunningProcesses(h)),
                      rows(n.nvmlDeviceGetMPSComputeRunningProcesses(h)),
                      rows(n.nvmlDeviceGetComputeRunningProcesses_v2(h))]
    """,
    )
    mib = 1 << 20
    assert out["0"] == [[[31337, 73720 * mib, 0xFFFFFFFF]], [], [], [[31337, 73720 * mib, 0xFFFFFFFF]]]
    assert out["1"][0] == [[2, None, 0xFFFFFFFF]]
    assert out["2"] == [[], [], [], []]
    assert out["3"] == [[], [[1801, 640 * mib, 0xFFFFFFFF]], [[1950, 240 * mib, 0xFFFFFFFF]], []]


def test_mig(ask: Ask) -> None:
    out = ask(
        "h100x8-mig",
        """
        whole, cut = gpus()[1], gpus()[0]
        out["modes"] = [n.nvmlDeviceGetMigMode(cut), n.nvmlDeviceGetMigMode(whole)]
        out["most"] = n.nvmlDeviceGetMaxMigDeviceCount(cut)
        parts = [n.nvmlDeviceGetMigDeviceHandleByIndex(cut, k) for k in range(4)]
        out["names"] = [n.nvmlDeviceGetName(part) for part in parts]
        out["ids"] = [[n.nvmlDeviceGetGpuInstanceId(p), n.nvmlDeviceGetComputeInstanceId(p)] for p in parts]
        out["memory"] = [n.nvmlDeviceGetMemoryInfo(part).total >> 20 for part in parts]
        attributes = n.nvmlDeviceGetAttributes(parts[0])
        out["sms"] = [attributes.multiprocessorCount, attributes.gpuInstanceSliceCount, attributes.memorySizeMB]
        out["uuids"] = [n.nvmlDeviceGetUUID(part) for part in parts]
        out["parent"] = n.nvmlDeviceGetIndex(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(parts[3]))
        out["is_mig"] = [n.nvmlDeviceIsMigDeviceHandle(parts[0]).value, n.nvmlDeviceIsMigDeviceHandle(cut).value]
        out["beyond"] = [q("nvmlDeviceGetMigDeviceHandleByIndex", *which) for which in ((cut, 4), (whole, 0))]
        out["processes"] = [len(n.nvmlDeviceGetComputeRunningProcesses(h)) for h in (cut, parts[0], parts[1])]
        out["by_uuid"] = n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByUUID(out["uuids"][1]))
        out["not_for_parts"] = [q("nvmlDeviceGetPowerUsage", parts[0]), q("nvmlDeviceGetUtilizationRates", cut),
                                q("nvmlDeviceGetGpuInstanceId", cut)]
    """,
    )
    name = "NVIDIA H100 80GB HBM3 MIG "
    assert (out["modes"], out["most"]) == ([[1, 1], [0, 0]], 7)
    assert out["names"] == [name + "3g.40gb", name + "2g.20gb", name + "1g.10gb", name + "1g.10gb"]
    assert out["by_uuid"] == name + "2g.20gb"
    assert out["ids"] == [[2, 0], [3, 0], [9, 0], [10, 0]]
    assert out["memory"] == [40448, 20096, 9984, 9984]
    assert out["sms"] == [60, 3, 40448]
    assert len(set(out["uuids"])) == 4
    assert all(uuid.startswith("MIG-") for uuid in out["uuids"])
    assert (out["parent"], out["is_mig"], out["processes"]) == (0, [1, 0], [1, 1, 0])
    assert out["beyond"] == ["NotFound", "NotFound"]
    assert out["not_for_parts"] == ["NotSupported", "NotSupported", "InvalidArgument"]


LINKS = """
    h = gpus()
    last = len(h) - 1
    out["read"] = [q("nvmlDeviceGetP2PStatus", h[0], other, 0) for other in h[1:]]
    out["topology"] = [q("nvmlDeviceGetTopologyCommonAncestor", h[0], other) for other in h[1:]]
    out["links"] = [q("nvmlDeviceGetNvLinkState", h[0], k) for k in range(19)]
    out["version"] = q("nvmlDeviceGetNvLinkVersion", h[0], 0)
    out["errors"] = q("nvmlDeviceGetNvLinkErrorCounter", h[0], 2, n.NVML_NVLINK_ERROR_DL_REPLAY)
    out["remote"] = q("nvmlDeviceGetNvLinkRemoteDeviceType", h[0], 0)
"""


def test_links_of_a_switched_board(ask: Ask) -> None:
    scenario = "include = h200x8.ini\n[gpu 0]\nnvlink_down = 5 17\nnvlink_errors = 2 replay 9\n"
    out = ask(scenario, LINKS)
    assert out["read"] == [0] * 7
    assert out["topology"] == [40] * 3 + [50] * 4
    assert out["links"] == [int(k not in {5, 17}) for k in range(18)] + ["NotSupported"]
    assert (out["version"], out["errors"], out["remote"]) == (6, 9, 2)


def test_links_of_a_cube_mesh_and_of_desktop_cards(ask: Ask) -> None:
    out = ask("v100", LINKS)
    assert out["read"] == [0, 0, 0, 0, 3, 3, 3]  # GPUs 5 to 7 are two links away
    assert (out["links"][:7], out["version"], out["remote"]) == ([1] * 6 + ["NotSupported"], 2, 0)
    out = ask("rtx4090x2", LINKS)
    assert out["read"] == [1]
    assert set(out["links"]) == {"NotSupported"}


def test_wsl(ask: Ask) -> None:
    names = (
        "Name",
        "UtilizationRates",
        "ComputeRunningProcesses",
        "CurrentClocksEventReasons",
        "EccMode",
        "TotalEnergyConsumption",
    )
    out = ask("wsl-unsupported", f"h = gpus()[0]; out = [q('nvmlDeviceGet' + name, h) for name in {names[2:]}]")
    assert out == ["NotSupported"] * 4


def test_a_card_is_lost_while_it_is_read(ask: Ask) -> None:
    out = ask(
        "lost-halfway",
        """
        h = gpus()[3]
        out["before"] = [q("nvmlDeviceGetName", h) for _ in range(11)]
        out["after"] = [q("nvmlDeviceGetName", h), q("nvmlDeviceGetPowerUsage", h), q("nvmlDeviceGetHandleByIndex", 3)]
        out["others"] = [q("nvmlDeviceGetPowerUsage", g) for g in (n.nvmlDeviceGetHandleByIndex(2),)]
        out["count"] = n.nvmlDeviceGetCount()
    """,
    )
    assert set(out["before"]) == {"NVIDIA A100-SXM4-80GB"}
    assert out["after"] == ["GpuIsLost"] * 3
    assert (out["others"], out["count"]) == ([62000], 8)


def test_rules_by_calls_gpu_and_time(ask: Ask) -> None:
    scenario = """
        include = a100.ini
        [system]
        stamp_origin_us = 1000000000000
        [gpu 7]
        lost_at_s = 30
        [calls]
        nvmlDeviceGetPowerUsage = code=UNKNOWN gpu=1 after=2 calls=3  # two pass, three fail
        nvmlDeviceGetClock* = code=NO_PERMISSION gpu=2
        nvmlDeviceGetTemperature = code=TIMEOUT from=10 to=20
    """
    out = ask(
        scenario,
        """
        h = gpus()
        out["calls"] = [q("nvmlDeviceGetPowerUsage", h[1]) for _ in range(7)]
        out["others"] = [q("nvmlDeviceGetPowerUsage", h[0]) for _ in range(5)]
        out["glob"] = [q("nvmlDeviceGetClockInfo", h[k], 1) for k in (1, 2)]
        def now_s():
            return n.nvmlDeviceGetFieldValues(h[0], [1])[0].timestamp * 1e-6 - 1e6
        out["times"] = [[0, 0, 0, 0]]
        while out["times"][-1][3] < 35:
            before = now_s()
            asked = [q("nvmlDeviceGetTemperature", h[0], 0), q("nvmlDeviceGetName", h[7])]
            out["times"].append([before, *asked, now_s()])
            time.sleep(0.002)
    """,
        DOCTOR_NVML_TIME_SCALE="100",
    )
    assert out["calls"] == [62000, 62000, "Unknown", "Unknown", "Unknown", 62000, 62000]
    assert out["others"] == [62000] * 5
    assert out["glob"] == [210, "NoPermission"]
    seen = set()
    for before, temperature, name, after in out["times"][1:]:
        failing = "failing" if before >= 10 and after < 20 else "well" if after < 10 or before >= 20 else "edge"
        lost = "lost" if before >= 30 else "there" if after < 30 else "edge"
        assert failing == "edge" or temperature == ("Timeout" if failing == "failing" else 31)
        assert lost == "edge" or (name == "GpuIsLost") == (lost == "lost")
        seen |= {failing, lost}
    assert seen >= {"failing", "well", "lost", "there"}


def test_missing_function_and_latency(ask: Ask) -> None:
    scenario = """
        include = t4.ini
        [calls]
        nvmlDeviceGetName = latency_ms=30
        nvmlDeviceGetUUID = code=FUNCTION_NOT_FOUND
        nvmlDeviceGetComputeRunningProcesses_v3 = code=FUNCTION_NOT_FOUND
    """
    out = ask(
        scenario,
        """
        h = gpus()[0]
        start = time.monotonic()
        n.nvmlDeviceGetName(h)
        out["slow_s"] = time.monotonic() - start
        out["missing"] = q("nvmlDeviceGetUUID", h)
        try:
            n.nvmlDeviceGetComputeRunningProcesses(h)
        except n.NVMLLibraryMismatchError:
            out["mismatch"] = True
    """,
    )
    assert out["slow_s"] >= 0.03
    assert out["missing"] == "FunctionNotFound"
    assert out["mismatch"]


def test_a_call_that_never_returns(folder: Path) -> None:
    code = (
        "import pynvml as n; n.nvmlInit()\n"
        "h = [n.nvmlDeviceGetHandleByIndex(k) for k in range(8)]\n"
        "print(n.nvmlDeviceGetPowerUsage(h[4]), flush=True)\n"
        "n.nvmlDeviceGetPowerUsage(h[5]); print('returned')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=scenario_env(folder, "blocking-call"),
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "62000\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
        child.kill()
        assert child.stdout.read() == ""


def test_a_blocked_thread_does_not_stop_the_others(ask: Ask) -> None:
    out = ask(
        "blocking-call",
        """
        import os, sys, threading
        h = gpus()
        threading.Thread(target=n.nvmlDeviceGetPowerUsage, args=(h[5],), daemon=True).start()
        time.sleep(0.05)
        print(json.dumps([n.nvmlDeviceGetPowerUsage(h[4]), n.nvmlDeviceGetName(h[5])]), flush=True)
        os._exit(0)
    """,
    )
    assert out == [62000, "NVIDIA A100-SXM4-80GB"]


def test_counts(ask: Ask, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    for _ in range(2):
        ask("rtx4090x2", "[n.nvmlDeviceGetName(h) for h in gpus() for _ in range(3)]", DOCTOR_NVML_COUNTS=str(counts))
    found = read_counts(counts)
    assert found["nvmlDeviceGetName"] == 12
    assert found["nvmlDeviceGetHandleByIndex_v2"] == 4
    assert found["nvmlInitWithFlags"] == 2
    assert found["nvmlDeviceGetUUID"] == 0


def test_counts_of_many_threads_and_a_fork(ask: Ask, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    ask(
        "t4",
        """
        import multiprocessing, threading
        h = gpus()[0]
        def work(times):
            for _ in range(times):
                n.nvmlDeviceGetName(h)
        threads = [threading.Thread(target=work, args=(500,)) for _ in range(4)]
        [t.start() for t in threads]; [t.join() for t in threads]
        child = multiprocessing.get_context("fork").Process(target=work, args=(7,))
        child.start(); child.join()
        out = child.exitcode
    """,
        DOCTOR_NVML_COUNTS=str(counts),
    )
    assert read_counts(counts)["nvmlDeviceGetName"] == 2000  # the forked child ends by os._exit: it reports nothing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gpu 0]\nnmae = x\n", "2: no such key in [gpu]: nmae"),
        ("[gpu 99]\n", "1: sections are"),
        ("[system]\ngpus = many\n", "2: no such key or value"),
        ("[calls]\nnvmlInit = code=NO_SUCH\n", "2: not understood in [calls]: code"),
        ("[gpu 0]\nactivity = 1.0 busy=1\n", "2: bad value: activity"),
        ("[system]\ngpus = 1\n", "GPU 0 needs a name"),
        ("include = nowhere.ini\n", "cannot be opened"),
    ],
)
def test_a_bad_scenario_is_named_with_its_line(folder: Path, text: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import pynvml; pynvml.nvmlInit()"],
        env=scenario_env(folder, text),
        capture_output=True,
        text=True,
        check=False,
    )
    assert message in done.stderr
    assert "NVMLError_Unknown" in done.stderr


def test_a_scenario_that_does_not_exist(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="those here are a100"):
        scenario_env(folder, "b100")


def test_calls_are_cheap(ask: Ask) -> None:
    """A sampler under test must not be slowed by its test bed."""
    start = time.monotonic()
    out = ask(
        "a100",
        """
        h = gpus()[0]
        begin = time.perf_counter()
        for _ in range(2000):
            n.nvmlDeviceGetTemperature(h, 0)
        out = (time.perf_counter() - begin) / 2000
    """,
    )
    assert out < 200e-6
    assert time.monotonic() - start < 10
