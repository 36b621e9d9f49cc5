"""Calls of NVML by their C names into memory that is made once, for what is asked many times a second.

The binding makes structures anew for each call and reads each field through Python; with eight cards that alone costs
more than the driver. Layouts: nvml.h, https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

from doctor.facts._nvml import (
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
_FIELD_CODE, _FIELD_VALUE = 28, 32
#: nvmlValueType_t whose value has eight bytes and no sign
_LONG_TYPES = frozenset({2, 3})
_INT_MASK = 0xFFFFFFFF

#: nvmlSample_t: stamp, value; the driver keeps 72 of them
_SAMPLE = struct.Struct("=QQ")
_SAMPLES = 128

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


class Field:
    """One field value below 2^32, asked like a call of its own."""

    __slots__ = ("_call", "_code", "out")
    function = "nvmlDeviceGetFieldValues"

    def __init__(self, nvml: Nvml, ident: int) -> None:
        self._call = Fields(nvml, (ident,)).call
        self._code = ctypes.c_uint32.from_buffer(self._call.out, _FIELD_CODE)
        self.out = ctypes.c_uint32.from_buffer(self._call.out, _FIELD_VALUE)

    def read(self, handle: Any) -> int:
        """NVML's code, of the call or of the field; 0 when `out` holds the value.

        Raises:
            GpuLost: the card does not answer any more.

        """
        return self._call.read(handle) or self._code.value


#: a call, and how its answer is written into a cell
Way = tuple[Union[Call, Field], Callable[[], str]]


class State:
    """One figure of one card as the text of its cell, empty when it cannot be told.

    Args:
        handle: of the card.
        ways: how to ask; the next one is taken where the driver lacks one.
        failed: called with (function, code) of a call that failed.

    """

    __slots__ = ("_failed", "_handle", "_ways")

    def __init__(self, handle: Any, ways: Sequence[Way], failed: Callable[[str, int], None]) -> None:
        self._handle, self._ways, self._failed = handle, tuple(ways), failed

    @property
    def gone(self) -> bool:
        """Whether it will never be told."""
        return not self._ways

    def read(self) -> str:
        """Ask.

        Raises:
            GpuLost: the card does not answer any more.

        """
        while self._ways:
            call, text = self._ways[0]
            code = call.read(self._handle)
            if not code:
                return text()
            self._failed(call.function, code)
            if code not in FOR_GOOD:
                break
            self._ways = self._ways[1:]
        return ""


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
