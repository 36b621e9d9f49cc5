"""What a sampler reads, against the integral of the truth in the scenario. Times are scenario seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.truth import Step, Truth, bursts

pytestmark = pytest.mark.process

ORIGIN_US = 10**12  # the stamp of scenario time 0
PERIOD_S = 1 / 6

Ask = Callable[..., Any]


def scenario(gpu: str, system: str = "", base: str = "h100x8") -> str:
    return f"include = {base}.ini\n[system]\nstamp_origin_us = {ORIGIN_US}\n{system}\n[gpu 0]\n{gpu}\n"


def seconds(stamp_us: int) -> float:
    return (stamp_us - ORIGIN_US) * 1e-6


NOW = """
h = gpus()[0]
def now_us():
    return n.nvmlDeviceGetFieldValues(h, [1])[0].timestamp
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_utilization_is_the_mean_of_the_last_window(ask: Ask, seed: int) -> None:
    truth = bursts(seed, 30)
    code = (
        NOW
        + """
out = []
while now_us() < 10**12 + 15_000_000:
    before, rates, after = now_us(), n.nvmlDeviceGetUtilizationRates(h), now_us()
    out.append([before, after, rates.gpu, rates.memory])
    time.sleep(0.002)
"""
    )
    rows = ask(scenario(truth.lines()), code, DOCTOR_NVML_TIME_SCALE="20")
    compared = 0
    for before, after, gpu, memory in rows:
        window = int(seconds(before) / PERIOD_S)
        if window != int(seconds(after) / PERIOD_S):
            continue  # it turned while the call was under way
        start, end = (window - 1) * PERIOD_S, window * PERIOD_S
        assert gpu == pytest.approx(100 * truth.mean("busy", start, end), abs=0.51)
        assert memory == pytest.approx(100 * truth.mean("membusy", start, end), abs=0.51)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("period_s", [PERIOD_S, 0.5, 1.0])
def test_the_buffer_of_samples_loses_nothing_when_drained_in_time(ask: Ask, period_s: float) -> None:
    truth = bursts(4, 40)
    code = (
        NOW
        + """
seen, out = 10**12, []
while now_us() < 10**12 + 24_000_000:
    time.sleep(0.05)  # a scenario second: well within the ring, however late a busy machine wakes it
    kind, samples = n.nvmlDeviceGetSamples(h, n.NVML_GPU_UTILIZATION_SAMPLES, seen)
    out += [[s.timeStamp, s.sampleValue.uiVal] for s in samples]
    seen = samples[-1].timeStamp
"""
    )
    text = scenario(truth.lines() + f"\nutilization_period_s = {period_s}")
    rows = ask(text, code, DOCTOR_NVML_TIME_SCALE="20")
    times = [seconds(stamp) for stamp, _ in rows]
    assert times == pytest.approx([period_s * (k + 1) for k in range(len(rows))], abs=1e-5)
    for at_s, (_, value) in zip(times, rows, strict=True):
        assert value == pytest.approx(100 * truth.mean("busy", at_s - period_s, at_s), abs=0.51)
    mean = sum(value for _, value in rows) / len(rows)
    assert mean == pytest.approx(100 * truth.mean("busy", 0, times[-1]), abs=0.5)


def test_the_ring_forgets_what_is_older_than_itself(ask: Ask) -> None:
    code = (
        NOW
        + """
time.sleep(0.3)
before = now_us()
_, samples = n.nvmlDeviceGetSamples(h, 1, 0)
out = [before, now_us(), [s.timeStamp for s in samples]]
"""
    )
    before, after, stamps = ask(scenario(bursts(5, 60).lines()), code, DOCTOR_NVML_TIME_SCALE="100")
    assert len(stamps) == 72
    assert seconds(before) - 2 * PERIOD_S < seconds(stamps[-1]) <= seconds(after)
    assert seconds(stamps[-1]) - seconds(stamps[0]) == pytest.approx(71 * PERIOD_S, abs=1e-4)


def test_no_new_sample_is_not_found_and_an_idle_card_runs_dry(ask: Ask) -> None:
    code = (
        NOW
        + """
out = [q("nvmlDeviceGetSamples", h, 1, 10**12 + 10**9), q("nvmlDeviceGetSamples", h, 9, 0)]
time.sleep(0.02)
try:
    out.append(len(n.nvmlDeviceGetSamples(h, 1, 10**12)[1]) > 0)
except n.NVMLError_NotFound:
    out.append("NotFound")
"""
    )
    idle = Truth((Step(0, {"busy": 0}),))
    assert ask(scenario(idle.lines()), code, DOCTOR_NVML_TIME_SCALE="100") == ["NotFound", "NotSupported", True]
    dry = scenario(idle.lines() + "\nsamples_stop_when_idle = 1")
    assert ask(dry, code, DOCTOR_NVML_TIME_SCALE="100")[2] == "NotFound"


GPM = (
    NOW
    + """
ids = [1, 2, 3, 5, 10, 20, 21, 60, 61, 11]
def metrics(first, second, version=1):
    request = n.c_nvmlGpmMetricsGet_t()
    request.version, request.numMetrics, request.sample1, request.sample2 = version, len(ids), first, second
    for k, i in enumerate(ids):
        request.metrics[k].metricId = i
    n.nvmlGpmMetricsGet(request)
    return [[m.nvmlReturn, m.value, (m.metricInfo.shortName or b"").decode()] for m in request.metrics[:len(ids)]]
first, second = n.nvmlGpmSampleAlloc(), n.nvmlGpmSampleAlloc()
"""
)

GPM_CHANNELS = [
    ("busy", 100),
    ("sm", 100),
    ("occupancy", 100),
    ("tensor", 100),
    ("dram", 100),
    ("pcie_tx", 1),
    ("pcie_rx", 1),
    ("nvlink_rx", 1),
    ("nvlink_tx", 1),
]


def test_gpm_gives_the_exact_mean_of_any_interval(ask: Ask) -> None:
    truth = bursts(6, 60)
    code = (
        GPM
        + """
def take(sample):
    for _ in range(50):  # until no other process of this machine came between
        before = now_us()
        n.nvmlGpmSampleGet(h, sample)
        after = now_us()
        if after - before < 200_000:
            break
    return [before, after]
stamps = take(first)
time.sleep(0.5)
stamps += take(second)
out = [stamps, metrics(first, second), n.nvmlGpmQueryDeviceSupport(h).isSupportedDevice]
n.nvmlGpmSampleFree(first); n.nvmlGpmSampleFree(second)
"""
    )
    stamps, rows, supported = ask(scenario(truth.lines()), code, DOCTOR_NVML_TIME_SCALE="40")
    times = [seconds(stamp) for stamp in stamps]
    start, end = (times[0] + times[1]) / 2, (times[2] + times[3]) / 2  # the samples lie somewhere between
    slack_s = times[1] - times[0] + times[3] - times[2]
    assert supported == 1
    for (code_, value, name), (channel, scale) in zip(rows, GPM_CHANNELS, strict=False):
        most = max(step.values[channel] for step in truth.steps) * scale
        slack = most * slack_s / (end - start) + 1e-6
        assert code_ == 0
        assert name
        assert value == pytest.approx(scale * truth.mean(channel, start, end), abs=slack)
    assert slack_s / (end - start) < 0.05  # else this test would say nothing
    assert rows[-1][0] == 3  # FP64: not in the truth


def test_gpm_refuses_what_it_must(ask: Ask) -> None:
    code = (
        GPM
        + """
n.nvmlGpmSampleGet(h, first)
n.nvmlGpmSampleGet(gpus()[1], second)
def tried(*args):
    try:
        return metrics(*args)[0][:2]
    except n.NVMLError as error:
        return type(error).__name__
out = [tried(first, second)]
n.nvmlGpmSampleGet(h, second)
out += [repr(tried(first, second)), tried(second, first), tried(first, second, 7)]
"""
    )
    truth = Truth((Step(0, {"busy": 0.5}),))
    different, short, backwards, version = ask(scenario(truth.lines()), code)
    assert (different, short) == ("NVMLError_InvalidArgument", "[0, nan]")
    assert (backwards, version) == ("NVMLError_InvalidArgument", "NVMLError_ArgumentVersionMismatch")
    assert ask(scenario(truth.lines(), "gpm_short_interval = error"), code)[1] == "'NVMLError_InvalidArgument'"
    assert ask(scenario(truth.lines(), "gpm_short_interval = ok"), code)[1].startswith("[0, 50.0")
    old = """
        s, h = n.nvmlGpmSampleAlloc(), gpus()[0]
        out = [n.nvmlGpmQueryDeviceSupport(h).isSupportedDevice, q('nvmlGpmSampleGet', h, s)]
    """
    assert ask("a100", old) == [0, "NotSupported"]


def test_gpm_of_an_instance(ask: Ask) -> None:
    whole, part = Truth((Step(0, {"sm": 0.5}),)), Truth((Step(0, {"sm": 0.125}),))
    code = (
        GPM
        + """
out = []
for instance in (2, 3):
    n.nvmlGpmMigSampleGet(h, instance, first)
    time.sleep(0.02)
    n.nvmlGpmMigSampleGet(h, instance, second)
    out.append(metrics(first, second)[1][1])
n.nvmlGpmSampleGet(h, first); time.sleep(0.02); n.nvmlGpmSampleGet(h, second)
out += [metrics(first, second)[1][1], q("nvmlGpmMigSampleGet", h, 6, first)]
"""
    )
    text = scenario(whole.lines() + "\n" + part.lines(gi=2), base="h100x8-mig")
    in_2, in_3, all_of_it, none = ask(text, code, DOCTOR_NVML_TIME_SCALE="20")
    assert in_2 == pytest.approx(12.5)
    assert in_3 == 0
    assert all_of_it == pytest.approx(50)
    assert none == "InvalidArgument"


def test_energy_and_power(ask: Ask) -> None:
    truth = bursts(7, 60)
    code = (
        NOW
        + """
def read():
    values = n.nvmlDeviceGetFieldValues(h, [83, 185, 186])
    return [values[0].timestamp, values[0].value.ullVal, values[1].value.uiVal, values[2].value.uiVal]
out = [[read(), time.sleep(0.02)][0] for _ in range(25)]
energy = n.nvmlDeviceGetTotalEnergyConsumption(h)
out = [out, energy >= out[-1][1], n.nvmlDeviceGetPowerUsage(h)]
"""
    )
    rows, grows, power = ask(scenario(truth.lines() + "\nenergy_base_mj = 5000000"), code, DOCTOR_NVML_TIME_SCALE="20")
    assert grows
    assert 90000 <= power < 600000
    for stamp, energy_mj, mean_mw, instant_mw in rows:
        at_s = int(seconds(stamp) / 0.1 + 1e-9) * 0.1
        assert energy_mj - 5_000_000 == pytest.approx(1000 * truth.integral("power", 0, at_s), abs=2)
        assert mean_mw == pytest.approx(1000 * truth.mean("power", at_s - 1, at_s), abs=2)
        assert instant_mw == pytest.approx(1000 * truth.at("power", at_s), abs=1)
    spent_j = (rows[-1][1] - rows[0][1]) / 1000
    true_j = truth.integral("power", seconds(rows[0][0]), seconds(rows[-1][0]))
    assert spent_j == pytest.approx(true_j, abs=2 * 0.1 * 600)


def test_fields_have_codes_of_their_own(ask: Ask) -> None:
    truth = Truth(
        (
            Step(0, {"throttle": 0x4, "nvlink_tx": 1024, "pcie_tx": 10, "busy": 1}),
            Step(2, {"throttle": 0x48, "nvlink_tx": 0, "pcie_tx": 10, "busy": 1}),
            Step(5, {"throttle": 0, "nvlink_tx": 0, "pcie_tx": 0, "busy": 0}),
        )
    )
    gpu = truth.lines() + "\nfield = 230 uint 1\nfield = 186 code=NOT_SUPPORTED\n"
    code = (
        NOW
        + """
time.sleep(0.12)
ids = [74, 75, 270, 271, (138, 0xFFFFFFFF), (138, 3), (138, 30), 197, 139, 230, 186, 83, 9999, 91, (165, 4)]
out = [[v.nvmlReturn, v.valueType, v.value.ullVal if v.valueType == 3 else v.value.uiVal]
       for v in n.nvmlDeviceGetFieldValues(h, ids)]
"""
    )
    rows = ask(scenario(gpu), code, DOCTOR_NVML_TIME_SCALE="50")
    second = 10**9
    assert rows[:4] == [[0, 3, 2 * second], [0, 3, 3 * second], [0, 3, 3 * second], [0, 3, 0]]
    assert rows[4] == [0, 3, 2 * 1024 * 1024]
    assert rows[5] == [0, 3, round(2 * 1024 * 1024 / 18)]
    assert rows[6][0] == 3
    assert rows[7] == [0, 3, 50 << 20]
    assert rows[8][0] == 3  # nvlink_rx is not in the truth
    assert rows[9] == [0, 1, 1]
    assert rows[10][0] == 3
    assert rows[11][0] == 0
    assert rows[12][0] == 3
    assert rows[13:] == [[0, 1, 18], [0, 1, 1]]


def test_process_utilization(ask: Ask) -> None:
    truth = Truth(
        (
            Step(0, {"busy": 1, "membusy": 0.5}),
            Step(8, {"busy": 0.5, "membusy": 0}),
            Step(16, {"busy": 0, "membusy": 0}),
        )
    )
    gpu = truth.lines() + (
        "\nprocess = pid=100 bytes=1GiB share=0.25 to=5\nprocess = pid=200 bytes=1GiB share=0.75\nprocess_garbage = 1"
    )
    code = (
        NOW
        + """
while now_us() < 10**12 + 10_100_000:
    time.sleep(0.001)
def rows(last):
    return [[r.pid, r.smUtil, r.memUtil] for r in n.nvmlDeviceGetProcessUtilization(h, last)]
out["all"], out["late"] = rows(0), rows(10**12 + 9_000_000)
stamp = n.nvmlDeviceGetProcessUtilization(h, 0)[0].timeStamp
out["newest"] = [stamp, now_us()]
while now_us() < 10**12 + 24_000_000:
    time.sleep(0.001)
out["idle"] = q("nvmlDeviceGetProcessUtilization", h, now_us() - 5_000_000)
out["alive"] = [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]
"""
    )
    for _ in range(8):  # a busy machine may hold the program up until the buffer has moved on: then once more
        out = ask(scenario(gpu), code, DOCTOR_NVML_TIME_SCALE="20")
        if seconds(out["newest"][1]) < 14:
            break
    rows = {pid: (sm, memory) for pid, sm, memory in out["all"]}
    assert rows[100][0] > 5  # gone, and still in the buffer
    assert rows[200][0] > 50
    assert rows[1][0] > 100  # a row of garbage
    late = {pid: (sm, memory) for pid, sm, memory in out["late"]}
    assert 100 not in late
    assert late[200] == (38, 0)
    assert seconds(out["newest"][0]) <= seconds(out["newest"][1])
    assert (out["idle"], out["alive"]) == ("NotFound", [200])


def test_memory_clock_temperature_and_throttling_follow_the_truth(ask: Ask) -> None:
    gib = 1 << 30
    truth = Truth(
        (
            Step(0, {"memory": 10 * gib, "sm_clock": 1980, "temperature": 40, "throttle": 0}),
            Step(20, {"memory": 70 * gib, "sm_clock": 1200, "temperature": 88, "throttle": 0x40}),
        )
    )
    code = (
        NOW
        + """
def read():
    return [n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2).used, n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM),
            n.nvmlDeviceGetTemperature(h, 0), n.nvmlDeviceGetCurrentClocksEventReasons(h)]
out = [read(), time.sleep(0.41), read()]
"""
    )
    before, _, after = ask(scenario(truth.lines()), code, DOCTOR_NVML_TIME_SCALE="50")
    assert before == [10 * gib, 1980, 40, 0]
    assert after == [70 * gib, 1200, 88, 0x40]


def test_a_pattern_repeats(ask: Ask) -> None:
    truth = Truth((Step(0, {"busy": 1, "power": 400}), Step(1, {"busy": 0, "power": 100})))
    code = (
        NOW
        + """
time.sleep(0.2)
value = n.nvmlDeviceGetFieldValues(h, [83])[0]
out = [value.timestamp, value.value.ullVal, [s.sampleValue.uiVal for s in n.nvmlDeviceGetSamples(h, 1, 0)[1]]]
"""
    )
    text = scenario(truth.lines() + "\nactivity_repeat_s = 4\nutilization_period_s = 0.5")
    stamp, energy_mj, samples = ask(text, code, DOCTOR_NVML_TIME_SCALE="200")
    at_s = int(seconds(stamp) / 0.1 + 1e-9) * 0.1
    whole, rest = divmod(at_s, 4)
    expected_j = whole * 700 + min(rest, 1) * 400 + max(0, rest - 1) * 100
    assert energy_mj == pytest.approx(1000 * expected_j, abs=50)
    assert sum(samples) / len(samples) == pytest.approx(25, abs=1e-9)


def test_pcie_throughput_blocks_as_the_real_call_does(ask: Ask) -> None:
    truth = Truth((Step(0, {"pcie_tx": 100, "pcie_rx": 50}),))
    code = (
        NOW
        + """
start = time.monotonic()
values = [n.nvmlDeviceGetPcieThroughput(h, 0), n.nvmlDeviceGetPcieThroughput(h, 1)]
out = [values, time.monotonic() - start]
"""
    )
    values, took_s = ask(scenario(truth.lines()), code)
    assert values == [102400, 51200]
    assert took_s >= 0.04


EVENTS = """
import threading
h = gpus()
def collect(events, timeout_ms, times):
    for _ in range(times):
        try:
            data = n.nvmlEventSetWait_v2(events, timeout_ms)
            got = [n.nvmlDeviceGetIndex(data.device), data.eventType, data.eventData, data.gpuInstanceId]
        except n.NVMLError as error:
            got = type(error).__name__
        out.append(got)
out = []
events = n.nvmlEventSetCreate()
"""


def test_xids_reach_the_thread_that_waits(ask: Ask) -> None:
    text = (
        "include = h100x8.ini\n[gpu 3]\nevent = at=4 xid=79\nevent = at=2 xid=31\nevent = at=0 xid=13\n"
        "[gpu 4]\nevent = at=3 xid=48\nevent = at=3.5 type=0x2 data=7\n"
    )
    code = (
        EVENTS
        + """
time.sleep(0.02)
for gpu in h:
    n.nvmlDeviceRegisterEvents(gpu, n.nvmlEventTypeXidCriticalError, events)
waiter = threading.Thread(target=collect, args=(events, 10_000, 3))
waiter.start()
spun = 0
while waiter.is_alive():  # the wait holds no lock of the interpreter
    spun += 1
    n.nvmlDeviceGetTemperature(h[0], 0)
collect(events, 500, 1)
n.nvmlEventSetFree(events)
out.append(spun > 100)
"""
    )
    none = 0xFFFFFFFF
    assert ask(text, code, DOCTOR_NVML_TIME_SCALE="5") == [
        [3, 8, 31, none],
        [4, 8, 48, none],
        [3, 8, 79, none],
        "NVMLError_Timeout",
        True,
    ]


def test_a_lost_card_ends_the_wait_after_its_xid(ask: Ask) -> None:
    text = "include = a100.ini\n[gpu 3]\nevent = at=4 xid=79\nlost_at_s = 4\n"
    code = (
        EVENTS.replace("n.nvmlDeviceGetIndex(data.device)", "0")
        + """
n.nvmlDeviceRegisterEvents(h[3], 8, events)
collect(events, 5000, 2)
"""
    )
    assert ask(text, code, DOCTOR_NVML_TIME_SCALE="10") == [[0, 8, 79, 0xFFFFFFFF], "NVMLError_GpuIsLost"]


def test_events_are_not_for_every_system(ask: Ask) -> None:
    code = """
        s, h = n.nvmlEventSetCreate(), gpus()[0]
        out = [q('nvmlDeviceGetSupportedEventTypes', h), q('nvmlDeviceRegisterEvents', h, 8, s)]
    """
    assert ask("wsl-unsupported", code) == ["NotSupported", "NotSupported"]
    assert ask("a100", code)[0] & 8


def test_stamps_of_the_epoch_and_of_the_boot_clock(ask: Ask) -> None:
    activity = "\n[gpu 0]\nactivity = 0 busy=1\n"
    code = """
        stamp = n.nvmlDeviceGetSamples(gpus()[0], 1, 0)[1][-1].timeStamp
        out = [stamp, time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)]
    """
    stamp, epoch, _ = ask(f"include = h100x8.ini{activity}", code)
    assert stamp / 1e6 == pytest.approx(epoch, abs=2)
    stamp, _, boot = ask(f"include = h100x8.ini\n[system]\nstamps = boot{activity}", code)
    assert stamp / 1e6 == pytest.approx(boot, abs=2)


def test_time_runs_as_fast_as_asked(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "one.ini"
    path.write_text(scenario("activity = 0 busy=1"))
    code = NOW + "start = now_us(); time.sleep(0.1); out = now_us() - start"
    begin = time.monotonic()
    assert 0.99e5 < ask(path, code) < 5e6
    assert ask(path, code, DOCTOR_NVML_TIME_SCALE="1000") > 0.99e8
    assert time.monotonic() - begin < 10


LINKS = """
from doctor.readers.machine.nvml import open_nvml
from doctor.monitors.sampler.nvlink import LinkErrors
nvml = open_nvml()
links = LinkErrors(nvml, gpus()[0])
out = [links.new()]
time.sleep(1)  # four scenario seconds
out += [links.new(), links.new()]
"""
ERRORS = (
    "nvlink_down = 7\nnvlink_errors = 1 replay 5\nnvlink_errors = 2 replay 9 at=3\nnvlink_errors = 7 replay 1 at=3\n"
)


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ("nvlink_errors = 3 crc_flit 400 at=3", [[2, "replay", 9], [3, "crc", 400]]),
        ("nvlink_errors = 3 recovery 2 at=3", [[2, "replay", 9], [3, "recovery", 2]]),
        (
            "".join(f"field = {ident} code=NOT_SUPPORTED\n" for ident in (161, 162, 163))
            + "nvlink_errors = 3 crc_data 4 at=3",
            [[2, "replay", 9], [3, "crc", 4]],
        ),
    ],
    ids=["fields", "recovery", "older-call"],
)
def test_new_errors_of_links_are_those_since_the_last_look(ask: Ask, more: str, kinds: list[Any]) -> None:
    assert ask(scenario(ERRORS + more), LINKS, init=False, DOCTOR_NVML_TIME_SCALE="4") == [[], kinds, []]


@pytest.mark.parametrize("base", ["rtx4090x2", "t4"])
def test_a_card_without_links_has_no_errors_on_them(ask: Ask, base: str) -> None:
    assert ask(scenario("", base=base), LINKS, init=False, DOCTOR_NVML_TIME_SCALE="4") == [[], [], []]


def test_the_sampler_writes_new_errors_of_links_as_events(ask: Ask, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from doctor.run.folder import RunDir
from doctor.monitors.sampler import gpu_worker
from doctor.monitors.sampler.clock import now
gpu_worker.SLOW_S = gpu_worker.LINKS_S = 0.1
run = RunDir(Path({str(tmp_path)!r}))
worker = gpu_worker.Worker(run, run.gpu(), frozenset([0]), "none")
worker.second = gpu_worker.Every(0.1)
worker.tick(now())
time.sleep(1.6)
worker.tick(now())
worker.events.close()
out = [event["data"] for event in run.read_events() if event["data"]["what"] == "nvlink"]
"""
    (told,) = ask(scenario(ERRORS), code, init=False, DOCTOR_NVML_TIME_SCALE="2")
    assert (told["gpu"], told["errors"]) == (0, [[2, "replay", 9]])
    assert 1.5 < told["seconds"] < 10


@pytest.mark.parametrize(
    ("gpu", "base", "expected"),
    [
        ("utilization_period_s = 0.5", "h100x8", 0.5),
        ("utilization_period_s = 1", "rtx4090x2", 1.0),
        ("samples_stop_when_idle = 1\nactivity = 0 busy=0", "h100x8", None),
    ],
    ids=["half", "second", "dry"],
)
def test_the_drivers_period_is_read_from_its_stamps(ask: Ask, gpu: str, base: str, expected: float | None) -> None:
    code = """
from doctor.readers.machine.nvml import open_nvml
from doctor.monitors.sampler.gpu_reader import Samples
from doctor.monitors.sampler.nvml_calls import SampleBuffer
begun = time.monotonic()
out = [Samples(SampleBuffer(open_nvml(), gpus()[0], 1), None).reach()[0], time.monotonic() - begun]
"""
    period, took_s = ask(scenario(gpu, base=base), code)
    assert period == pytest.approx(expected, abs=1e-4)
    assert took_s < 2


OF_EACH = """
from doctor.readers.machine.nvml import open_nvml
from doctor.monitors.sampler.gpu_reader import GpuReader, open_card
from doctor.monitors.sampler.gpu_states import CardStates
nvml = open_nvml()
readers = [GpuReader(nvml, open_card(nvml, k), lambda *told: None) for k in range(n.nvmlDeviceGetCount())]
states = CardStates(nvml, readers)
def alone(function, h, *more):
    try:
        return getattr(n, function)(h, *more)
    except n.NVMLError:
        return None
def power(h):
    value = n.nvmlDeviceGetFieldValues(h, [186])[0]
    return "" if value.nvmlReturn else f"{value.value.uiVal / 1000:.6g}"
out = [list(zip(*states.states(), *states.second())), sorted(states.without_power()), [
    [n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2).used >> 20, power(h), alone("nvmlDeviceGetClockInfo", h, 1),
     alone("nvmlDeviceGetTemperature", h, 0)] for h in gpus()]]
"""


def test_cards_of_several_kinds_are_asked_together_and_each_tells_its_own(ask: Ask) -> None:
    kinds = "".join(
        f"[gpu {gpu}]\nactivity = 0 memory={gpu + 1}GiB power={200 + gpu} sm_clock={1000 + gpu} temperature=4{gpu}\n"
        + ("field = 186 code=NOT_SUPPORTED\n" if gpu in (1, 3) else "")
        for gpu in range(5)
    )
    told, without_power, alone = ask(f"include = h100x8.ini\n[system]\ngpus = 5\n{kinds}", OF_EACH, init=False)
    assert without_power == [1, 3]
    assert len({tuple(cells) for cells in told}) == 5
    for (memory, power, clock, _, temperature, *_), expected in zip(told, alone, strict=True):
        cells = ["" if each is None else str(each) for each in expected]
        assert [memory, power, clock, temperature] == cells


PACE = """
from pathlib import Path
from doctor.run.folder import RunDir
from doctor.monitors.sampler import gpu_worker
from doctor.monitors.sampler.clock import now
gpu_worker.SLOW_S, gpu_worker.SHARE = 0.1, {share}
run = RunDir(Path({folder!r}))
worker = gpu_worker.Worker(run, run.gpu(), None, "none", interval_s={interval})
worker.second = gpu_worker.Every(0.1)
for _ in range(5):
    worker.tick(now())
    time.sleep(0.05)
    worker.tick(now())
    time.sleep(0.06)
out = [worker.tick_s, [event["data"] for event in run.read_events() if event["data"]["what"] == "states paced"]]
"""


@pytest.mark.parametrize(
    ("share", "interval", "tick_s"), [(1e-6, None, 1.0), (1e-6, 0.1, 0.1), (1.0, None, 0.1)],
    ids=["dear", "as-asked", "cheap"],
)  # fmt: skip
def test_states_are_asked_as_often_as_the_share_of_a_core_lets_them(
    ask: Ask, tmp_path: Path, share: float, interval: float | None, tick_s: float
) -> None:
    code = PACE.format(share=share, folder=str(tmp_path), interval=interval)
    reached, told = ask(scenario("activity = 0 busy=0.5"), code, init=False)
    assert reached == tick_s
    slowed = {"what": "states paced", "power_every_s": 1.0, "states_every_s": 1.0}
    assert told == ([slowed] if tick_s == 1.0 else [])
