"""What an unquoted YAML word means to PyYAML, which accelerate and TRL read their files with.

PyYAML follows YAML 1.1 (https://yaml.org/type/): `no` is False, `1e-5` is text because the float type there
asks for a dot, `0123` is octal. OmegaConf, which veRL and Trinity-RFT use, widens the float and knows no dates
(https://github.com/omry/omegaconf).
"""

from __future__ import annotations

from typing import Any

from doctor.base.patterns import later

_BOOL = {
    word: truth
    for truth, words in ((True, "yes true on"), (False, "no false off"))
    for each in words.split()
    for word in (each, each.capitalize(), each.upper())
}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INT = later(r"[-+]?(0b[0-1_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*(:[0-5]?[0-9])*)\Z")
_FLOAT = later(
    r"([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z"
)
_WIDE_FLOAT = later(
    r"([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9_]+([eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z"
)


def plain_value(text: str, *, wide_floats: bool = False) -> Any:
    """Value of an unquoted scalar; dates stay text.

    Raises:
        ValueError: it looks like a number and is none (`0b_`, `0x_`), where PyYAML fails too.

    """
    if text in _BOOL:
        return _BOOL[text]
    if text in _NULL:
        return None
    if wide_floats and _WIDE_FLOAT.match(text):
        return as_float(text)
    if _INT.match(text):
        return as_int(text)
    if not wide_floats and _FLOAT.match(text):
        return as_float(text)
    return text


def as_int(text: str) -> int:
    """Read an integer in any of YAML 1.1's notations."""
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if digits.startswith(("0b", "0x")):
        return sign * int(digits, 0)
    if digits.startswith("0") and digits != "0":
        return sign * int(digits, 8)
    if ":" in digits:
        return sign * int(_base_60(digits))
    return sign * int(digits)


def as_float(text: str) -> float:
    """Read a floating point number in any of YAML 1.1's notations."""
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        return sign * _base_60(digits)
    return sign * float(digits)


def _base_60(digits: str) -> float:
    total = 0.0
    for part in digits.split(":"):
        total = total * 60 + float(part)
    return total
