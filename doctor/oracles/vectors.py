"""Flat vectors of numbers: torch's, NumPy's or plain lists behind the few operators that all three share.

Neither library is imported: what a caller hands over brings its own operators, and lists get them from `Plain`.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Optional, Sequence

#: exp of a larger difference says no more than this, and overflows
MOST_EXPONENT = 50.0


class Plain:
    """A vector of Python floats, or of booleans, with the operators that NumPy and torch have too."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        """How many there are."""
        return len(self.values)

    def _with(self, other: Any, how: Callable[[Any, Any], Any]) -> Plain:
        if isinstance(other, Plain):
            return Plain([how(one, two) for one, two in zip(self.values, other.values)])  # noqa: B905 - Python 3.9
        return Plain([how(each, other) for each in self.values])

    def __sub__(self, other: Any) -> Plain:
        """Difference."""
        return self._with(other, lambda one, two: one - two)

    def __mul__(self, other: Any) -> Plain:
        """Product."""
        return self._with(other, lambda one, two: one * two)

    def __and__(self, other: Any) -> Plain:
        """Both."""
        return self._with(other, lambda one, two: one and two)

    def __or__(self, other: Any) -> Plain:
        """Either."""
        return self._with(other, lambda one, two: one or two)

    def __gt__(self, other: Any) -> Plain:
        """Above."""
        return self._with(other, lambda one, two: one > two)

    def __ge__(self, other: Any) -> Plain:
        """Not below."""
        return self._with(other, lambda one, two: one >= two)

    def __lt__(self, other: Any) -> Plain:
        """Below."""
        return self._with(other, lambda one, two: one < two)

    def __eq__(self, other: object) -> Plain:  # type: ignore[override]
        """Equal, element by element, as arrays have it."""
        return self._with(other, lambda one, two: one == two)

    __hash__ = None  # type: ignore[assignment]

    def __abs__(self) -> Plain:
        """Without signs."""
        return Plain([abs(each) for each in self.values])

    def __rpow__(self, base: float) -> Plain:
        """`base ** vector`."""
        return Plain([base**each for each in self.values])

    def __getitem__(self, mask: Plain) -> Plain:
        """Elements where the mask is true."""
        return Plain([each for each, kept in zip(self.values, mask.values) if kept])  # noqa: B905 - Python 3.9

    def clip(self, low: float, high: float) -> Plain:
        """Bounded on both sides."""
        return Plain([min(max(each, low), high) for each in self.values])

    def sum(self) -> float:
        """Sum, without loss by rounding."""
        try:
            return math.fsum(self.values)
        except (OverflowError, ValueError):  # no float holds it
            return float(sum(self.values))

    def max(self) -> float:
        """The greatest."""
        return float(max(self.values))

    def tolist(self) -> list[Any]:
        """As a list."""
        return list(self.values)


def is_array(values: Any) -> bool:
    """Whether it is NumPy's or torch's: something with a shape that gives itself as a list."""
    return hasattr(values, "shape") and hasattr(values, "tolist")


def flat(values: Any) -> Iterator[Any]:
    """Elements of nested sequences or of an array, one after the other."""
    if is_array(values):
        values = values.detach().tolist() if hasattr(values, "detach") else values.tolist()
    if isinstance(values, (list, tuple)):
        for each in values:
            yield from flat(each)
    else:
        yield values


def rows(values: Any) -> list[list[Any]]:
    """Nested sequences or a two-dimensional array as lists; one sequence is one row."""
    if is_array(values):
        values = values.detach().tolist() if hasattr(values, "detach") else values.tolist()
    values = [each.tolist() if is_array(each) else each for each in values]
    if values and not isinstance(values[0], (list, tuple)):
        return [list(values)]
    return [list(each) for each in values]


def vectors(*columns: Any) -> tuple[Any, ...]:
    """Columns of equal length as vectors of the same kind: the caller's own arrays, or `Plain`.

    Args:
        columns: arrays or nested sequences; None within one is NaN, a column that is None stays None.

    Raises:
        ValueError: they are of different lengths.

    """
    given = [each for each in columns if each is not None]
    kinds = {type(each) for each in given}
    if len(kinds) == 1 and given and is_array(given[0]):
        made = {id(each): _flattened(each) for each in given}
    else:
        made = {id(each): Plain([_number(value) for value in flat(each)]) for each in given}
    lengths = {len(each) for each in made.values()}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {', '.join(map(str, sorted(lengths)))}")
    return tuple(None if each is None else made[id(each)] for each in columns)


def _flattened(array: Any) -> Any:
    if not hasattr(array, "detach"):
        return array.astype("float64").ravel()
    tensor = array.detach().reshape(-1)
    return tensor.float() if tensor.device.type == "mps" else tensor.double()  # Apple's GPUs have no doubles


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def finite(vector: Any) -> Any:
    """A mask of what is neither NaN nor infinite."""
    return (vector == vector) & (abs(vector) < math.inf)  # noqa: PLR0124 - NaN alone differs from itself


def count(mask: Any) -> int:
    """How many of a mask are true."""
    return int(mask.sum())


def mean(vector: Any) -> float:
    """The mean; NaN of nothing."""
    size = len(vector)
    return float(vector.sum()) / size if size else math.nan


def deviation(vector: Any) -> float:
    """The standard deviation of a sample; NaN of less than two."""
    size = len(vector)
    if size < 2:
        return math.nan
    apart = vector - mean(vector)
    return math.sqrt(max(0.0, float((apart * apart).sum())) / (size - 1))


def exp(vector: Any) -> Any:
    """The power of e by each, bounded."""
    return math.e ** vector.clip(-MOST_EXPONENT, MOST_EXPONENT)


def positions_of(values: Any) -> list[float]:
    """Index of each element within its row, as `flat` orders them."""
    return [float(at) for row in rows(values) for at in range(len(row))]


def kept(mask: Any, like: Optional[Any]) -> Any:
    """A column of 0 and 1 as a mask; everything where there is none."""
    return finite(like) | True if mask is None else mask > 0.5
