"""Errors of a card's NVLinks, link by link: how many are new since the last look.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlFieldValueEnums.html (161 to 163; on Blackwell 215)
https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html (nvmlDeviceGetNvLinkErrorCounter, where a card lacks them)
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from doctor.monitors.sampler.nvml_calls import FOR_GOOD, Fields
from doctor.readers.machine.nvml import Nvml

#: field id -> what it counts: packets sent again, links trained anew, checksums that failed
_FIELDS = {161: "replay", 162: "recovery", 163: "crc", 215: "recovery"}
#: nvmlNvLinkErrorCounter_t
_COUNTERS = {0: "replay", 1: "recovery", 2: "crc", 3: "crc"}
_MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS


class LinkErrors:
    """The counters of all links of one card.

    Args:
        nvml: the open library.
        handle: of the card.

    """

    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        states = (nvml.query("nvmlDeviceGetNvLinkState", handle, link) for link in range(_MOST_LINKS))
        links = [link for link, active in enumerate(takewhile(lambda state: state is not None, states)) if active]
        self._wanted = tuple((ident, link) for link in links for ident in _FIELDS)
        self._asked = tuple((link, counter) for link in links for counter in _COUNTERS)
        self._seen: dict[tuple[int, str], int] = {}

    def new(self) -> list[tuple[int, str, int]]:
        """(link, kind, count) of what is new since the last call; nothing the first time.

        Raises:
            GpuLost: the card does not answer any more.

        """
        counts = self._of_fields() or self._of_counters()
        grown = [
            (link, kind, count - self._seen[link, kind])
            for (link, kind), count in sorted(counts.items())
            if count > self._seen.get((link, kind), count)
        ]
        self._seen.update(counts)
        return grown

    def _of_fields(self) -> dict[tuple[int, str], int]:
        if not self._wanted:
            return {}
        fields = Fields(self._nvml, self._wanted)
        code = fields.call.read(self._handle)
        if code:
            self._wanted = () if code in FOR_GOOD else self._wanted
            return {}
        answers = list(zip(self._wanted, fields.rows()))  # noqa: B905 - Python 3.9 has no strict=
        self._wanted = tuple(which for which, (_, failure, _) in answers if failure not in FOR_GOOD)
        return {(link, _FIELDS[ident]): value for (ident, link), (_, failure, value) in answers if not failure}

    def _of_counters(self) -> dict[tuple[int, str], int]:
        counts: dict[tuple[int, str], int] = {}
        for link, counter in () if self._wanted else self._asked:
            value, code = self._nvml.ask("nvmlDeviceGetNvLinkErrorCounter", self._handle, link, counter)
            if code is None:
                kind = _COUNTERS[counter]
                counts[link, kind] = counts.get((link, kind), 0) + int(value)
            elif code in FOR_GOOD:
                self._asked = tuple(each for each in self._asked if each != (link, counter))
        return counts
