"""Time stamps as written, and their order."""

from __future__ import annotations

import calendar

import pytest

from doctor.logs.lines.prefixes import strip

TIME = calendar.timegm((2026, 11, 20, 15, 6, 44)) * 10**9


@pytest.mark.parametrize(
    ("line", "part_ns"),
    [
        ("2026-11-20T15:06:44.045Z text", 45_000_000),
        ("2026-11-20 15:06:44,045 - name - INFO - text", 45_000_000),
        ("[2026-11-20 15:06:44,045] [INFO] [a.py:1:f] text", 45_000_000),
        ("INFO 11-20 15:06:44 [core.py:1] text", 0),
        ("W1120 15:06:44.045000 6848 torch/run.py:874] text", 45_000_000),
        ("11/20/2026 15:06:44 - INFO - main - text", 0),
        ("Fri Nov 20 15:06:44 2026 text", 0),
        ("2026-11-20T16:06:44.045+01:00 text", 45_000_000),
    ],
)
def test_forms(line: str, part_ns: int) -> None:
    assert strip(line).time_ns(2026) == TIME + part_ns


def test_the_outermost_stamp_counts() -> None:
    assert strip("2026-11-20T15:06:44Z stderr F INFO 11-20 17:00:00 [core.py:1] x").time_ns(2026) == TIME


@pytest.mark.parametrize("line", ["INFO 13-45 15:06:44 [core.py:1] x", "text without", "0%|  | 0/10 [00:00<?, ?it/s]"])
def test_no_time(line: str) -> None:
    assert strip(line).time_ns(2026) is None
