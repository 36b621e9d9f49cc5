"""Axes of tensors by name, and what indexing, reducing, regrouping and broadcasting make of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union


class Axis(NamedTuple):
    """One axis.

    `less` is how many places slices have cut off; `left` tells that a length of 1 is what a reduction or a layer left,
    and was not asked for.
    """

    name: str
    less: int = 0
    left: bool = False

    def kept(self) -> Axis:
        """The axis as one that nobody asked for."""
        return self._replace(left=True)

    @property
    def kind(self) -> str:
        """`rows`, `tokens`, `vocabulary`, ..."""
        return self.name.partition(":")[0].partition("[")[0]

    @property
    def root(self) -> str:
        """Where the axis comes from: the text of the batch, say."""
        return self.name.partition(":")[2]

    def __str__(self) -> str:
        """As readers see it: `tokens - 1`."""
        return f"{self.kind} - {self.less}" if self.less else self.kind


Shape = tuple[Axis, ...]
ONE = Axis("1")


def written(shape: Shape) -> str:
    """A shape as text: `(rows, tokens - 1)`."""
    inside = ", ".join(map(str, shape))
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def broadcast(*shapes: Optional[Shape]) -> Optional[Shape]:
    """What shapes give together; None where one is unknown, or they do not fit by name."""
    made: Optional[Shape] = ()
    for shape in shapes:
        if made is None or shape is None:
            return None
        made = _pair(made, shape)
    return made


def _pair(one: Shape, other: Shape) -> Optional[Shape]:
    length = max(len(one), len(other))
    pairs = zip((ONE,) * (length - len(one)) + one, (ONE,) * (length - len(other)) + other)  # noqa: B905 - of one length
    made: list[Axis] = []
    for a, b in pairs:
        if a.name == ONE.name:
            made.append(b)
        elif b.name == ONE.name or (a.name, a.less) == (b.name, b.less):
            made.append(a)
        else:
            return None
    return tuple(made)


def cut(shape: Optional[Shape], index: ast.expr) -> Optional[Shape]:
    """A tensor's shape behind `[...]`."""
    if shape is None:
        return None
    items = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    if any(isinstance(each, ast.Constant) and each.value is Ellipsis for each in items):
        place = next(i for i, e in enumerate(items) if isinstance(e, ast.Constant) and e.value is Ellipsis)
        taken = sum(not _is_new(each) for each in items) - 1
        items[place : place + 1] = [ast.Slice()] * max(len(shape) - taken, 0)
    left, made = list(shape), []
    for item in items:
        if _is_new(item):
            made.append(ONE)
            continue
        if not left:
            return None
        axis = left.pop(0)
        if isinstance(item, ast.Slice):
            made.append(_sliced(axis, item))
        elif not _is_place(item):
            return None  # a mask or a list of places
    return (*made, *left)


def _is_new(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is None


def _is_place(item: ast.expr) -> bool:
    """Whether an index is one number as it stands in the text."""
    inner = item.operand if isinstance(item, ast.UnaryOp) else item
    return isinstance(inner, ast.Constant) and isinstance(inner.value, int)


def _sliced(axis: Axis, item: ast.Slice) -> Axis:
    if item.lower is None and item.upper is None and item.step is None:
        return axis
    lower = _cuts(item.lower, sign=1)
    upper = _cuts(item.upper, sign=-1)
    if lower is None or upper is None or item.step is not None:
        return Axis(f"{axis.kind}[{ast.unparse(item)}]:{axis.root}", axis.less)
    return axis._replace(less=axis.less + lower + upper)


def _cuts(bound: Optional[ast.expr], *, sign: int) -> Optional[int]:
    """Places that a bound cuts off: `1:` and `:-1` cut off one."""
    if bound is None:
        return 0
    inner: Union[ast.expr, None] = bound
    negative = isinstance(bound, ast.UnaryOp) and isinstance(bound.op, ast.USub)
    if negative:
        inner = bound.operand  # type: ignore[attr-defined]
    value = inner.value if isinstance(inner, ast.Constant) else None
    fits = isinstance(value, int) and negative == (sign < 0)
    return value if fits and isinstance(value, int) else None


def reduced(shape: Shape, place: Optional[ast.expr], keeps: Optional[ast.expr]) -> Optional[Shape]:
    """A shape whose axis at `place` is reduced to one number; without a place nothing is left of it."""
    if place is None:
        return ()
    inner = place.operand if isinstance(place, ast.UnaryOp) else place
    if not (isinstance(inner, ast.Constant) and isinstance(inner.value, int)):
        return None
    number = -inner.value if isinstance(place, ast.UnaryOp) else inner.value
    if not -len(shape) <= number < len(shape):
        return None
    number %= len(shape)
    if keeps is not None and not (isinstance(keeps, ast.Constant) and keeps.value in (True, False)):
        return None
    kept = isinstance(keeps, ast.Constant) and keeps.value is True
    return (*shape[:number], *((ONE.kept(),) if kept else ()), *shape[number + 1 :])


def grouped(shape: Shape, sizes: Sequence[ast.expr]) -> Optional[Shape]:
    """A shape behind `view(...)`: `view(-1, G)` of one axis makes groups of G."""
    texts = [ast.unparse(each) for each in sizes]
    if texts == ["-1"]:
        several = [each for each in shape if each.name != ONE.name]
        return tuple(several) if len(several) == 1 else None
    if len(texts) == 2 and len(shape) == 2 and ONE.name in (shape[0].name, shape[1].name):
        shape = shape[1:] if shape[0].name == ONE.name else shape[:1]
    if len(shape) != 1 or len(texts) != 2 or "-1" not in texts or texts == ["-1", "-1"]:
        return None
    if "1" in texts:
        return (shape[0], ONE) if texts[1] == "1" else (ONE, shape[0])
    size = next(each for each in texts if each != "-1")
    groups, members = Axis(f"groups:{size}"), Axis(f"members:{size}")
    return (groups, members) if texts[0] == "-1" else (members, groups)


def repeated(shape: Shape, times: ast.expr, place: Optional[ast.expr]) -> Optional[Shape]:
    """A shape behind `repeat_interleave(G)`: one value for each group of G is one for each row again."""
    if place is not None and not (isinstance(place, ast.Constant) and place.value == 0):
        return None
    if len(shape) != 1 or shape[0].name != f"groups:{ast.unparse(times)}":
        return None
    return (Axis(f"rows:{shape[0].name}"),)
