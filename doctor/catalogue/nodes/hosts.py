"""Names of hosts written short, as Slurm does: `node[001-037,040]`.

The notation is that of https://slurm.schedmd.com/scontrol.html (SHOW HOSTLIST), so it can be given to `srun -w`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from doctor.base.patterns import later

_NUMBERED = later(r"(.*?)(\d{1,18})(\D*)")


def folded(names: Iterable[str], parts: int | None = None) -> str:
    """All names, ranges folded; with `parts` no more than so many ranges, then `...`."""
    series: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    split = [(name, _split(name)) for name in dict.fromkeys(names)]
    padded = {(each[0], each[2]) for _, each in split if each and len(each[1]) > 1 and each[1].startswith("0")}
    for name, found in split:
        if found is None:
            plain.append(name)
            continue
        beginning, number, end = found
        width = len(number) if (beginning, end) in padded else 0
        series.setdefault((beginning, end, width), []).append(int(number))
    told = [_series(*key, numbers, parts) for key, numbers in series.items()] + plain
    return ",".join(told if parts is None or len(told) <= parts else [*told[:parts], "..."])


@lru_cache(maxsize=4096)
def _split(name: str) -> tuple[str, str, str] | None:
    """Text, number and text of a name with a number; a report tells the same nodes in many places."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2], match[3]) if match else None


def _series(beginning: str, end: str, width: int, numbers: list[int], parts: int | None) -> str:
    if len(numbers) == 1:
        return f"{beginning}{numbers[0]:0{width}d}{end}"
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    told = [f"{low:0{width}d}" + (f"-{high:0{width}d}" if high > low else "") for low, high in ranges]
    if parts is not None and len(told) > parts:
        told = [*told[:parts], "..."]
    return f"{beginning}[{','.join(told)}]{end}"
