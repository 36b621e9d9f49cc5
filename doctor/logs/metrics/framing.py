"""How TensorBoard, wandb and SwanLab frame what they write, and protocol buffers read field by field.

Three small formats of files that only grow, each of which may end in the middle of a record: then what is whole counts.
Their own libraries are not asked: TensorBoard's brings a web server along, wandb's newest holds no reader any more, and
the fields that are wanted are half a dozen.

Sources of the formats:
https://www.tensorflow.org/tutorials/load_data/tfrecord (TFRecord: length, its checksum, data, their checksum)
https://github.com/google/leveldb/blob/main/doc/log_format.md (blocks of 32 KiB, records in up to many fragments)
https://protobuf.dev/programming-guides/encoding/ (varints, tags, wire types)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Union

#: a record longer than this is no metrics but an image, a table or damage
LONGEST_RECORD = 64 * 2**20

_BLOCK, _FULL, _FIRST, _MIDDLE, _LAST = 32_768, 1, 2, 3, 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Field = tuple[int, Union[int, bytes]]


def tf_records(file: IO[bytes]) -> Iterator[bytes]:
    """Records of a TensorBoard event file, up to the first that is not whole."""
    while len(head := file.read(12)) == 12:
        (length,) = struct.unpack("<Q", head[:8])
        if length > LONGEST_RECORD:
            return
        data = file.read(length + 4)
        if len(data) < length + 4:
            return
        yield data[:length]


def leveldb_records(file: IO[bytes], head: int) -> Iterator[bytes]:
    """Records of a file in LevelDB's log format, up to the first that is not whole.

    Args:
        file: at its beginning.
        head: bytes of the file's own header, which count as a part of the first block.

    """
    at = len(file.read(head))
    parts: list[bytes] = []
    while True:
        left = _BLOCK - at % _BLOCK
        if left < 7:
            at += len(file.read(left))
            continue
        header = file.read(7)
        if len(header) < 7:
            return
        _, length, kind = struct.unpack("<IHB", header)
        data = file.read(length)
        if len(data) < length or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            return
        at += 7 + length
        if kind in (_FULL, _FIRST):
            parts = []
        parts.append(data)
        if kind in (_FULL, _LAST):
            yield b"".join(parts)


def fields(message: bytes) -> Iterator[Field]:
    """Numbers and values of a message's fields: integers of varints, bytes of all others.

    Raises:
        ValueError: it is no message.

    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            msg = f"wire type {kind}"
            raise ValueError(msg)
        if at + size > end:
            msg = "a field goes beyond its message"
            raise ValueError(msg)
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            msg = "a number goes beyond its message"
            raise ValueError(msg)
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    msg = "a number of more than ten bytes"
    raise ValueError(msg)


def signed(value: int) -> int:
    """A varint as the signed 64-bit integer that it stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value
