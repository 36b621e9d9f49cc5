"""Puts known loads on a GPU, one after the other, and prints when each began and ended and what is true of it.

loads.py SECONDS. A line of JSON each: {name, begin_s, end_s (epoch), sm (share of the SMs that held a warp; null where
it is not known beforehand), busy (share of the time in which a kernel was resident), mib (bytes of tensors)}.

`torch.cuda._sleep` is a kernel of one thread that spins: it keeps exactly one SM active, and the driver's
`utilization.gpu` at 100 %. Sixteen of them in as many streams keep sixteen SMs active. Where Triton is there, a kernel
of one block an SM keeps half of the SMs active, and all of them: blocks are laid on the emptiest SMs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "32"  # else sixteen streams share eight queues

import torch

import doctor

SECONDS = float(sys.argv[1])
SPIN_S = 0.05
GAP_S = 0.05
MULTIPROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count


def cycles_a_second() -> float:
    """Speed of the counter that `_sleep` waits for, now that the clock is up."""
    torch.cuda._sleep(10**8)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.cuda._sleep(10**9)
    end.record()
    end.synchronize()
    return 1e12 / start.elapsed_time(end)


def spinning(streams: int, cycles: int):
    """One kernel of a single SM in each stream, for SPIN_S."""
    lanes = [torch.cuda.Stream() for _ in range(streams)]

    def once() -> None:
        for lane in lanes:
            with torch.cuda.stream(lane):
                torch.cuda._sleep(cycles)
        torch.cuda.synchronize()

    return once


def blocks(count: int):
    """A kernel of Triton's in so many blocks, each of which multiplies for about SPIN_S.

    Raises:
        ImportError: there is no Triton.

    """
    import triton
    import triton.language as tl

    @triton.jit
    def turning(pointer, rounds):
        place = pointer + tl.program_id(0) * 128 + tl.arange(0, 128)
        value = tl.load(place)
        for _ in range(rounds):
            value = value * 0.999999 + 0.000001
        tl.store(place, value)

    values = torch.ones(128 * count, device="cuda")

    def seconds(rounds: int) -> float:
        at = time.perf_counter()
        turning[(count,)](values, rounds)
        torch.cuda.synchronize()
        return time.perf_counter() - at

    seconds(1000)
    rounds = int(SPIN_S * 10**6 / seconds(10**6))
    return lambda: seconds(rounds)


def products(size: int):
    """A matrix product that fills every SM."""
    left, right = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def once() -> None:
        for _ in range(20):
            torch.mm(left, right)
        torch.cuda.synchronize()

    return once


def copies(mib: int):
    """A copy inside the GPU's memory."""
    source = torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)

    def once() -> None:
        for _ in range(20):
            target.copy_(source)
        torch.cuda.synchronize()

    return once


def from_host(mib: int):
    """A copy from pinned host memory over PCIe."""
    source = torch.empty(mib << 20, dtype=torch.uint8, pin_memory=True)
    target = torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
    return lambda: (target.copy_(source, non_blocking=True), torch.cuda.synchronize())


def run(name: str, once, *, sm: float | None, pause_s: float = 0.0) -> None:
    """Repeat a load for SECONDS and tell what share of the time it filled."""
    once()
    begin_s, worked, count = time.time(), 0.0, 0
    with doctor.phase(name):
        while time.time() < begin_s + SECONDS:
            at = time.perf_counter()
            once()
            worked += time.perf_counter() - at
            count += 1
            if pause_s:
                time.sleep(pause_s)
    end_s = time.time()
    busy = worked / (end_s - begin_s)
    told = {
        "name": name, "begin_s": begin_s, "end_s": end_s, "count": count, "busy": busy,
        "sm": None if sm is None else sm * busy, "mib": torch.cuda.memory_allocated() / 2**20,
    }  # fmt: skip
    print(json.dumps(told), flush=True)


cycles = int(cycles_a_second() * SPIN_S)
run("idle", lambda: time.sleep(0.1), sm=None)
run("one SM", spinning(1, cycles), sm=1 / MULTIPROCESSORS)
run("sixteen SMs", spinning(16, cycles), sm=16 / MULTIPROCESSORS)
run("one SM, half of the time", spinning(1, cycles), sm=1 / MULTIPROCESSORS, pause_s=GAP_S)
with contextlib.suppress(ImportError):
    for name, count in (("half of the SMs", MULTIPROCESSORS // 2), ("all SMs", MULTIPROCESSORS)):
        run(name, blocks(count), sm=count / MULTIPROCESSORS)
run("products", products(8192), sm=1.0)
run("copies", copies(4096), sm=None)
run("from host", from_host(1024), sm=None)
