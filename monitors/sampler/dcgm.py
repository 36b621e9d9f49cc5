"""What a running dcgm-exporter tells: SM activity where NVML has no GPM, which is all cards before Hopper.

The exporter's shipped list has DCGM_FI_PROF_SM_ACTIVE commented out, so an endpoint may run and not tell it.
https://docs.nvidia.com/datacenter/dcgm/latest/reference/dcgm-exporter-metrics.html
https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv
"""

from __future__ import annotations

import math
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from doctor.base.numerals import whole_of

DEFAULT_URL = "http://127.0.0.1:9400/metrics"

_MIB = 1 << 20

#: metric -> (column, factor): ratios become percent, bytes a second MiB/s
METRICS = {
    "DCGM_FI_PROF_SM_ACTIVE": ("sm_active_pct", 100.0),
    "DCGM_FI_PROF_SM_OCCUPANCY": ("sm_occupancy_pct", 100.0),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("tensor_active_pct", 100.0),
    "DCGM_FI_PROF_DRAM_ACTIVE": ("dram_active_pct", 100.0),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("graphics_active_pct", 100.0),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": ("nvlink_rx_mib_s", 1 / _MIB),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": ("nvlink_tx_mib_s", 1 / _MIB),
}

_LINE = re.compile(r"(\w+)\{([^}]*)\}\s+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

#: DCGM's blanks are huge (dcgm_structs.h): a ratio above one or a rate above a terabyte a second is no figure
_MOST = 1.0e6
_MOST_BYTES = 16 << 20


def parse(text: str) -> dict[tuple[str, int | None], dict[str, float]]:
    """(UUID of the card, GPU instance or None) -> column -> value, of one answer of the exporter."""
    found: dict[tuple[str, int | None], dict[str, float]] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        wanted = METRICS.get(match[1]) if match else None
        if match is None or wanted is None:
            continue
        labels = dict(_LABEL.findall(match[2]))
        try:
            value = float(match[3]) * wanted[1]
        except ValueError:
            continue
        uuid, instance = labels.get("UUID"), labels.get("GPU_I_ID", "")
        if uuid is None or not math.isfinite(value) or not 0 <= value <= _MOST:
            continue
        key = (uuid, whole_of(instance))
        found.setdefault(key, {})[wanted[0]] = round(value, 3)
    return found


class Exporter:
    """Asks the exporter in a thread of its own, so that a slow answer delays nothing.

    Args:
        url: of the metrics page.
        period_s: from question to question.

    """

    def __init__(self, url: str, period_s: float = 1.0) -> None:
        self.url = url
        self.answers: queue.Queue[tuple[int, dict[tuple[str, int | None], dict[str, float]]]] = queue.Queue(100)
        self.error: str | None = None
        self._period_s = period_s
        self._before: Any = None
        threading.Thread(target=self._ask_for_ever, daemon=True, name="dcgm-exporter").start()

    def _ask_for_ever(self) -> None:
        while True:
            began = time.monotonic()
            self._ask()
            # a page that does not answer is asked more seldom
            pause_s = self._period_s if self.error is None else 10 * self._period_s
            time.sleep(max(0.0, began + pause_s - time.monotonic()))

    def _ask(self) -> None:
        try:
            with urllib.request.urlopen(self.url, timeout=5) as answer:  # noqa: S310 - the user's own URL
                found = parse(answer.read(_MOST_BYTES).decode("utf-8", "replace"))
        except (OSError, ValueError, urllib.error.URLError) as exc:
            self.error = str(exc)
            return
        self.error = None if any("sm_active_pct" in each for each in found.values()) else "no DCGM_FI_PROF_SM_ACTIVE"
        # the exporter repeats its figures until it has new ones (every 30 s as shipped)
        if found and found != self._before and not self.answers.full():
            self._before = found
            self.answers.put((time.time_ns(), found))
