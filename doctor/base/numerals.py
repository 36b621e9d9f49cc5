"""Whole numbers as they stand in text that anybody may have written.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Optional

#: what 63 bits hold; Python refuses to read thousands of digits (`sys.get_int_max_str_digits`), and nothing counts them
_MOST_DIGITS = 18


def whole_of(text: str) -> Optional[int]:
    """The number that digits tell; None for other text, and for more digits than any count has."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
