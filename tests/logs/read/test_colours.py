"""Terminal codes are cut out, and the way back to the raw text is found."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from doctor.logs.read.colours import Cleaned
from doctor.logs.read.quick import CODES

PARTS = (
    b"\x1b[36m", b"\x1b[0m", b"\x1b[1;31m", b"\x1b[2K", b"\x1b[?25l", b"\x1b]0;title\x07", b"\x1b]8;;x\x1b\\", b"\x1bM",
    b"\x1b[32m", b"\x1b[33m", b"\x1b[34m", b"\x1b[35m", b"\n", b"\r", b"\r\n", b"word", b" ", b"m", b"[3",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=40))
def test_codes_are_cut_out_and_line_starts_found_again(parts: list[bytes]) -> None:
    raw = b"".join(parts)
    cleaned = Cleaned(raw)
    assert cleaned.data == CODES.sub(b"", raw)
    ends = [match.end() for match in re.finditer(rb"[\n\r]", raw)]
    starts = [match.end() for match in re.finditer(rb"[\n\r]", cleaned.data)]
    assert [cleaned.raw_offset(start) for start in starts] == ends
    assert [cleaned.raw_offset(start) for start in reversed(starts)] == ends[::-1]
