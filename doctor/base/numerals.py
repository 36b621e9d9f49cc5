"""Whole numbers as they stand in text that anybody may have written.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Optional

#: a signed number of 64 bits holds every count and every time in nanoseconds; of thousands of digits Python itself
#: refuses to make one (`sys.get_int_max_str_digits`)
_MOST, _MOST_DIGITS = 2**63 - 1, 19


def whole_of(text: str) -> Optional[int]:
    """The number that digits tell; None for other text, and for more than 64 bits hold."""
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= _MOST else None
