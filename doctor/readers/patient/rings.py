"""All-reduce of a few sizes over all processes, and over halves of the nodes.

The halves: for each binary digit of the node's number one group of the nodes that have it 0 and one of those that have
it 1. A group is as slow as its slowest member, so the slower halves spell the number of a slow node, in as many
measurements as the number has digits.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional

from doctor.base.halves import digits_of
from doctor.readers.patient.products import settle

TIMES = 5
SIZES = {"cuda": (1 << 20, 64 << 20, 256 << 20), "cpu": (64 << 10, 1 << 20, 8 << 20)}
#: seconds that one size may take in all
_SIZE_S = 5.0
#: how much longer the next size takes at most
_NEXT = 64
HALF_BYTES = {"cuda": 64 << 20, "cpu": 1 << 20}


def measure(
    torch: Any,
    dist: Any,
    device: Any,
    members: list[tuple[int, int]],
    me: tuple[int, int],
    go_on: Callable[[bool], bool],
) -> Iterator[dict[str, Any]]:
    """Lines that this process tells: those of groups whose first member it is.

    `go_on` asks all processes together whether all want the next one and have time left, so that none waits for one
    that has stopped.
    """
    fast = True
    for size in SIZES[device.type]:
        if not go_on(fast):
            break
        line = _ring(torch, dist, device, size, None, len(members))
        if me == members[0] or not line["sum"]:
            yield {"group": "all", "nodes": len({node for node, _ in members}), **line}
        fast = line["seconds"] * TIMES * _NEXT < _SIZE_S
    for digit in range(digits_of(max(node for node, _ in members) + 1)):
        if not go_on(True):
            return
        for value in (0, 1):
            half = [rank for rank, (node, _) in enumerate(members) if node >> digit & 1 == value]
            if len(half) < 2:
                continue
            group = dist.new_group(half)  # every process must make every group
            if me in (members[rank] for rank in half):
                line = _ring(torch, dist, device, HALF_BYTES[device.type], group, len(half))
                if me == members[half[0]] or not line["sum"]:
                    yield {
                        "group": "digit %d is %d" % (digit, value),
                        "nodes": len({members[rank][0] for rank in half}),
                        **line,
                    }


def _ring(torch: Any, dist: Any, device: Any, size: int, group: Optional[Any], ranks: int) -> dict[str, Any]:
    """Median time of an all-reduce of `size` bytes, and its bus bandwidth.

    Bus bandwidth is size / time * 2 (n - 1) / n, which does not depend on the number of processes
    (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).
    """
    tensor = torch.ones(size // 4, device=device, dtype=torch.float32)
    times = []
    for _ in range(TIMES + 1):
        tensor.fill_(1.0)
        settle(torch, device)
        started = time.perf_counter()
        dist.all_reduce(tensor, group=group)
        settle(torch, device)
        times.append(time.perf_counter() - started)
    seconds = statistics.median(times[1:])
    whole = bool((tensor == float(ranks)).all().item())
    return {"bytes": size, "seconds": seconds, "bus_gb_s": size / seconds * 2 * (ranks - 1) / ranks / 1e9, "sum": whole}
