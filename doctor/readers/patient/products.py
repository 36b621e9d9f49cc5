"""How fast one device multiplies: a series of equal matrix products, timed in portions, all devices at once.

All at once, for that is how a training loads the power supply and the cooling of a machine.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

#: GPU: 8192 x 8192 in bf16 (fp16 before Ampere), 0.4 GiB; CPU: 384 x 384 in fp32 on one core
_GPU_SIZE, _CPU_SIZE = 8192, 384
_PORTIONS = 9
#: seconds that a device multiplies at most
LONGEST_S = 3.0
_WARM_UP_SHARE = 0.3


def measure(torch: Any, device: Any, seconds: float) -> dict[str, Any]:
    """Multiply for about `seconds`, a third of it to warm up; gives teraflops (median of the portions) and spread."""
    size, dtype = _GPU_SIZE, torch.bfloat16
    if device.type == "cpu":
        size, dtype = _CPU_SIZE, torch.float32
        torch.set_num_threads(1)
    elif torch.cuda.get_device_capability(device)[0] < 8:
        dtype = torch.float16
    left = torch.full((size, size), 0.01, device=device, dtype=dtype)
    right, out = left.clone(), torch.empty_like(left)

    def portion(products: int) -> float:
        settle(torch, device)
        started = time.perf_counter()
        for _ in range(products):
            torch.mm(left, right, out=out)
        settle(torch, device)
        return time.perf_counter() - started

    portion(1)
    products = max(1, int(seconds * (1 - _WARM_UP_SHARE) / _PORTIONS / max(portion(2) / 2, 1e-6)))
    warm = time.perf_counter() + seconds * _WARM_UP_SHARE
    while time.perf_counter() < warm:
        portion(products)
    times = [portion(products) for _ in range(_PORTIONS)]
    middle = statistics.median(times)
    return {
        "dtype": str(dtype).replace("torch.", ""),
        "tflops": 2e-12 * size**3 * products / middle,
        "spread": relative_spread(times),
    }


def settle(torch: Any, device: Any) -> None:
    """Wait for what was started on a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def relative_spread(times: list[float]) -> float:
    """Median absolute deviation as a share of the median, scaled to a standard deviation."""
    middle = statistics.median(times)
    return 1.4826 * statistics.median(abs(each - middle) for each in times) / middle
