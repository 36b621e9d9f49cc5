"""Turns what a log is written in into UTF-8: UTF-16 with and without a mark, GBK, and UTF-8 as it is, broken or not."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator

_ENOUGH = 8  # bytes beyond ASCII that are needed to tell GBK from UTF-8
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Windows consoles and editors write GBK; GB18030 is its superset, and what Python decodes most of it with.
GBK = "gb18030"
#: common characters, punctuation, full-width forms
_CHINESE = (("\u4e00", "\u9fa5"), ("\u3000", "\u303f"), ("\uff00", "\uffef"))


def transcode(chunks: Iterable[bytes], told: Callable[[str], None]) -> Iterator[bytes]:
    """The same text in UTF-8.

    Args:
        chunks: bytes as they were read, the first one with the beginning of the stream, the more of it the better.
        told: is called with the name of the encoding when it is known ("utf-8" needs no change).

    """
    source = iter(chunks)
    first = next(source, b"")
    mark, name = _marked(first)
    if mark:
        first = first[len(mark) :]
    elif name == "":
        name = _without_mark(first)
    if name.startswith("utf-16"):
        told(name)
        yield from _decoded(first, source, name)
        return
    if mark:
        yield first
        yield from source
        return
    yield from _ascii_until_known(first, source, told)


def is_plain(sample: bytes, *, start: bool) -> bool:
    """Whether a sample of a file is UTF-8 that needs no change; `start`: it is the beginning of the file."""
    return not (start and (_marked(sample)[0] or _without_mark(sample))) and not _gbk(sample)


def _marked(first: bytes) -> tuple[bytes, str]:
    for mark, name in _MARKS:
        if first.startswith(mark):
            return mark, name
    return b"", ""


def _without_mark(first: bytes) -> str:
    """Recognise UTF-16 by its zero bytes: in ASCII text every second byte, and hardly any of the others."""
    sample = first[:4096]
    if len(sample) < 8:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > half * 0.4 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.4 and odd < half * 0.05:
        return "utf-16-be"
    return ""


def _decoded(first: bytes, source: Iterator[bytes], name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(name)("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for chunk in source:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _ascii_until_known(first: bytes, source: Iterator[bytes], told: Callable[[str], None]) -> Iterator[bytes]:
    """Pass ASCII on until there is something to judge by: Chinese may begin far into a log."""
    chunk = first
    while True:
        if not chunk.isascii():
            verdict = _gbk(chunk)
            if verdict:
                told("gbk")
                yield from _decoded(chunk, source, GBK)
                return
            yield chunk
            if verdict is not None:
                yield from source
                return
        else:
            yield chunk
        following = next(source, None)
        if following is None:
            return
        chunk = following


def _gbk(chunk: bytes) -> bool | None:
    """Whether a portion of a log is GBK; None when it holds too little to tell.

    Text in one encoding is almost all malformed in the other, but a log may hold broken characters of either, so the
    one with clearly fewer of them wins. GBK reads nearly anything: what it gives must also be Chinese.
    """
    beyond_ascii = sum(chunk.count(value) for value in _beyond_ascii(chunk))
    if beyond_ascii < _ENOUGH:
        return None
    sample = chunk[:65536]
    broken_utf8 = _broken(sample, "utf-8")
    if broken_utf8 * 8 <= beyond_ascii:
        return False
    text = sample.decode(GBK, "replace")
    beyond = [each for each in text if each > "\x7f"]
    return sum(any(low <= each <= high for low, high in _CHINESE) for each in beyond) >= 0.8 * len(beyond)


def _beyond_ascii(chunk: bytes) -> list[int]:
    return [value for value in set(chunk) if value > 0x7F]


def _broken(sample: bytes, name: str) -> int:
    """Malformed sequences, the one that the end of the sample cuts off not counted."""
    decoder = codecs.getincrementaldecoder(name)("replace")
    return decoder.decode(sample).count("\ufffd")
