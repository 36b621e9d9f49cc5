"""What a written value means, and where it stands: shared by the checks of every area."""

from __future__ import annotations

from typing import Any, Optional

from doctor.base.evidence import Observed, Place
from doctor.catalogue.finding import Where

_YES = frozenset({"1", "true", "yes", "on", "y", "t"})
_NO = frozenset({"0", "false", "no", "off", "n", "f", "none", ""})


def truth(value: Any) -> Optional[bool]:
    """Whether a value, also one written as text, means yes; None when it means neither yes nor no.

    The words are those of accelerate's `str_to_bool`
    (https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/environment.py) and of YAML; None and
    "none" count as no, as they do in Python.
    """
    text = str(value).strip().lower()
    return True if text in _YES else False if text in _NO else None


def whole(value: Any) -> Optional[int]:
    """A whole number, also one written as text or as 8.0; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            return None
    return None


def number(value: Any) -> Optional[float]:
    """A number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def at(place: Optional[Place]) -> Optional[Where]:
    """The place of a finding from the place of a fact; None for the command line."""
    return Where(file=place.file, line=place.line, column=place.column) if place else None


def place_of(*settings: Optional[Observed], otherwise: Optional[Place] = None) -> Optional[Where]:
    """Where the first setting that has a place stands, else `otherwise`; None for neither."""
    return at(next((each.place for each in settings if each is not None and each.place is not None), otherwise))
