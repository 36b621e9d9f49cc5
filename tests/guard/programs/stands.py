"""A training loop that stands still after some steps: `stands.py steps|lock|gloo`."""

from __future__ import annotations

import sys
import time

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.stuck import StuckWatch


def holds_the_lock() -> None:
    sum(range(10**13))


def reward_that_hangs() -> None:
    time.sleep(600)


def gloo(guard: Guard, watch: StuckWatch) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    for step in range(1, 7):
        if step == 6 and guard.rank == 1:
            reward_that_hangs()
        dist.all_reduce(torch.ones(1))
        time.sleep(0.05)
        watch.beat(step)


def main() -> None:
    guard = Guard(rules=[])
    watch = StuckWatch(guard, factor=3, at_least_s=3)
    if sys.argv[1] == "gloo":
        gloo(guard, watch)
        return
    for step in range(20):
        watch.beat(step)
        time.sleep(0.05)
        print("step", step, flush=True)
    if sys.argv[1] == "lock":
        time.sleep(0.3)
        holds_the_lock()
    watch.close()
    print("done", flush=True)


if __name__ == "__main__":
    main()
