"""Calls of NVML by their C names into memory that is made once, for what is asked many times a second.

The binding makes structures anew for each call and reads each field through Python; with eight cards that alone costs
more than the driver. Layouts: nvml.h, https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, TypeVar

from doctor.readers.machine.nvml import (
    FUNCTION_NOT_FOUND,
    GONE,
    INSUFFICIENT_SIZE,
    INVALID_ARGUMENT,
    NO_PERMISSION,
    NOT_FOUND,
    NOT_SUPPORTED,
    GpuLost,
    Nvml,
)

#: nvmlFieldValue_t: id, scope, stamp, latency, type of the value, code, value
_FIELD = struct.Struct("=IIqqIIQ")
#: nvmlValueType_t whose value has eight bytes and no sign
_LONG_TYPES = frozenset({2, 3})
_INT_MASK = 0xFFFFFFFF

#: nvmlSample_t: stamp, value; the driver keeps 72 of them
_SAMPLE = struct.Struct("=QQ")
_SAMPLES = 128

T = TypeVar("T")

#: codes that will not change while the process lives
FOR_GOOD = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND, NO_PERMISSION, INVALID_ARGUMENT})


class Call:
    """One call that fills the same value each time, whichever card it is about: one memory for all of them stays warm.

    Args:
        nvml: the open library.
        function: by its C name; a driver without it answers FUNCTION_NOT_FOUND.
        arguments: those between the card's handle and the answer.
        out: ctypes value that is filled.

    """

    __slots__ = ("_arguments", "_call", "function", "out")

    def __init__(self, nvml: Nvml, function: str, *arguments: Any, out: Any) -> None:
        self.function, self.out = function, out
        self._call = nvml.pointer(function)
        self._arguments = (*arguments, ctypes.byref(out))

    def read(self, handle: Any) -> int:
        """NVML's code, 0 when `out` holds the answer.

        Raises:
            GpuLost: the card does not answer any more.

        """
        if self._call is None:
            return FUNCTION_NOT_FOUND
        code: int = self._call(handle, *self._arguments)
        if code in GONE:
            raise GpuLost(code, "GPU is lost")
        return code


class Fields:
    """Field values in one call of the driver; an id may come with its scope.

    https://docs.nvidia.com/deploy/nvml-api/group__nvmlFieldValueQueries.html
    """

    def __init__(self, nvml: Nvml, ids: tuple[int | tuple[int, int], ...]) -> None:
        memory = (ctypes.c_char * (_FIELD.size * len(ids)))()
        for number, each in enumerate(ids):
            ident, scope = each if isinstance(each, tuple) else (each, 0)
            _FIELD.pack_into(memory, number * _FIELD.size, ident, scope, 0, 0, 0, 0, 0)
        self.call = Call(nvml, "nvmlDeviceGetFieldValues", ctypes.c_int(len(ids)), out=memory)

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """(id, code, value) of each field, as last read."""
        for ident, _, _, _, kind, code, value in _FIELD.iter_unpack(self.call.out):
            yield ident, code, value if kind in _LONG_TYPES else value & _INT_MASK


@dataclass(frozen=True)
class Way(Generic[T]):
    """A call that asks one card for one figure.

    Args:
        function: by its C name; a driver without it answers FUNCTION_NOT_FOUND.
        form: of the answer for `struct`, without a byte order: what it picks is handed to `text`.
        text: makes the cell.
        arguments: numbers (C int) between the card's handle and the answer.
        begin: what the answer's memory holds before the call; empty for nothing.
        coded: whether the first thing picked is NVML's code for the figure itself, which `text` does not get.

    """

    function: str
    form: str
    text: Callable[..., T]
    arguments: tuple[int, ...] = ()
    begin: bytes = b""
    coded: bool = False


def field_way(ident: int, text: Callable[[int], T]) -> Way[T]:
    """One field value below 2^32."""
    begin = _FIELD.pack(ident, 0, 0, 0, 0, 0, 0)
    return Way("nvmlDeviceGetFieldValues", "28xII4x", text, (1,), begin, coded=True)


class _Group(Generic[T]):
    """Cards that are asked in the same way: their answers lie side by side in one memory."""

    def __init__(self, nvml: Nvml, way: Way[T], cards: Sequence[tuple[int, Any]]) -> None:
        self.way, self.places = way, [place for place, _ in cards]
        self._answers = struct.Struct("=" + way.form * len(cards))
        size = struct.calcsize("=" + way.form)
        self._memory = (ctypes.c_char * (size * len(cards))).from_buffer(
            bytearray((way.begin or bytes(size)) * len(cards))
        )
        self._width = len(self._answers.unpack(self._memory)) // len(cards)
        self._call = nvml.pointer(way.function)
        self._arguments = [
            [handle for _, handle in cards],
            *(repeat(ctypes.c_int.from_param(each)) for each in way.arguments),
            [ctypes.byref(self._memory, size * number) for number in range(len(cards))],
        ]

    def ask(self) -> tuple[list[int], list[T]]:
        """NVML's code and the cell of each card; a cell is worth nothing where the code is not 0."""
        call, width = self._call, self._width
        codes = [FUNCTION_NOT_FOUND] * len(self.places) if call is None else list(map(call, *self._arguments))
        values = self._answers.unpack(self._memory)
        if width == 1:
            return codes, list(map(self.way.text, values))
        if self.way.coded:
            own, values = values[::width], values[1:]
            codes = [one or other for one, other in zip(codes, own)] if any(own) else codes  # noqa: B905 - Python 3.9 has no strict=
            return codes, list(map(self.way.text, values[::width]))
        return codes, list(map(self.way.text, *(values[place::width] for place in range(width))))


class Sweep(Generic[T]):
    """One figure of several cards, asked in a row: the driver's path and ours stay warm from card to card.

    Args:
        nvml: the open library.
        asked: handle of each card, and how to ask it; the next way is taken where its driver lacks one.
        failed: called with (place in `asked`, function, code) of a call that failed.
        lost: takes in place -> code of a card that does not answer any more.
        empty: the cell of a figure that cannot be told.

    """

    def __init__(
        self,
        nvml: Nvml,
        asked: Sequence[tuple[Any, Sequence[Way[T]]]],
        failed: Callable[[int, str, int], None],
        lost: dict[int, int],
        empty: T,
    ) -> None:
        self._nvml, self._failed, self._lost, self._empty = nvml, failed, lost, empty
        # made here what ctypes would make of them at each call
        self._handles = [ctypes.c_void_p.from_param(ctypes.cast(handle, ctypes.c_void_p).value) for handle, _ in asked]
        self._ways = [tuple(ways) for _, ways in asked]
        self._groups: list[_Group[T]] | None = None
        self._settle()

    def gone(self, place: int) -> bool:
        """Whether this card will never tell it."""
        return not self._ways[place]

    def _settle(self) -> None:
        """Find a way for each card, so that the first reading has all that there is."""
        while self._groups is None:
            self.read()

    def _grouped(self) -> list[_Group[T]]:
        cards: dict[Way[T], list[tuple[int, Any]]] = {}
        for place, ways in enumerate(self._ways):
            if ways:
                cards.setdefault(ways[0], []).append((place, self._handles[place]))
        return [_Group(self._nvml, way, each) for way, each in cards.items()]

    def read(self) -> list[T]:
        """A cell for each card, empty where it cannot be told; lost cards are to be asked no more."""
        groups = self._groups
        if groups is None:
            groups = self._groups = self._grouped()
        if len(groups) == 1 and len(groups[0].places) == len(self._ways):
            codes, told = groups[0].ask()
            if not any(codes):
                return told
            return self._sorted(((groups[0], codes, told),))
        return self._sorted([(group, *group.ask()) for group in groups])

    def _sorted(self, asked: Iterable[tuple[_Group[T], list[int], list[T]]]) -> list[T]:
        """Each cell in its place; what could not be told is noted."""
        cells = [self._empty] * len(self._ways)
        for group, codes, told in asked:
            for place, code, cell in zip(group.places, codes, told):  # noqa: B905 - Python 3.9 has no strict=
                if not code:
                    cells[place] = cell
                else:
                    self._note(place, group.way.function, code)
        return cells

    def _note(self, place: int, function: str, code: int) -> None:
        if code in GONE:
            self._lost[place] = code
            return
        self._failed(place, function, code)
        if code in FOR_GOOD:
            self._ways[place] = self._ways[place][1:]
            self._groups = None


class SampleBuffer:
    """The driver's buffer of windows of one kind, of one card.

    https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html (nvmlDeviceGetSamples)
    """

    function = "nvmlDeviceGetSamples"

    def __init__(self, nvml: Nvml, handle: Any, kind: int) -> None:
        self._call = nvml.pointer(self.function)
        self._handle, self._kind = handle, ctypes.c_uint(kind)
        self._seen, self._type, self._count = ctypes.c_ulonglong(), ctypes.c_uint(), ctypes.c_uint()
        self._make_room(_SAMPLES)

    def _make_room(self, samples: int) -> None:
        self._room, self._memory = samples, (ctypes.c_char * (_SAMPLE.size * samples))()

    def read(self, last: int) -> tuple[list[tuple[int, int]], int]:
        """(stamp in us, value) of the windows after `last`; and NVML's code, 0 where all is well.

        Raises:
            GpuLost: the card does not answer any more.

        """
        if self._call is None:
            return [], FUNCTION_NOT_FOUND
        self._seen.value, self._count.value = last, self._room
        code: int = self._call(
            self._handle, self._kind, self._seen, ctypes.byref(self._type), ctypes.byref(self._count), self._memory
        )
        if code in GONE:
            raise GpuLost(code, "GPU is lost")
        if code == INSUFFICIENT_SIZE:  # there is more next time, and nothing is lost until then
            self._make_room(max(2 * self._room, self._count.value))
            return [], 0
        if code:
            return [], 0 if code == NOT_FOUND else code  # an idle card has no windows
        filled = memoryview(self._memory)[: min(self._count.value, self._room) * _SAMPLE.size]
        return [(stamp, value & _INT_MASK) for stamp, value in _SAMPLE.iter_unpack(filled) if stamp > last], 0
