"""Records of structured loggers, one JSON object a line, whose traceback stands in a field with escaped line feeds.

Such a line is written out as other loggers write it: a head with time, level and message, then the traceback. The parts
stay one line of the file, divided by carriage returns as the states of a bar are, so that line numbers hold. What is no
record of a logger, a rollout with a traceback in its text for one, passes unchanged, and so does a log of plain text.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from doctor.base.patterns import later
from doctor.logs.lines.stamps import ISO, ZONE
from doctor.logs.read.streams import Stream

HEADER = "Traceback (most recent call last)"
#: structlog's `dict_tracebacks`: https://www.structlog.org/en/stable/api.html#structlog.tracebacks.Stack
_AS_DICTS = "exc_type"
#: Elastic's formatter leaves the header and the exception out of the frames
#: https://github.com/elastic/ecs-logging-python/blob/main/ecs_logging/_stdlib.py
_FRAMES_ALONE, _FRAME = "stack_trace", '  File "'
_NEEDLES = (HEADER.encode(), f'"{_AS_DICTS}"'.encode(), f'"{_FRAMES_ALONE}"'.encode())
_OPENS = later(r'\{\s?"')
_LONGEST_HEAD = 300  # characters in front of the object: a container, a rank
_LONGEST_LINE = 1 << 20
_DEEPEST, _MOST_FIELDS, _MOST_REMEMBERED = 5, 2_000, 64
#: a whole record must stay below what `doctor.logs.read.passages` reads of one line
_MOST_BYTES, _LONGEST_PART = 18_000, 4_000
#: fields by the last parts of their names, the names of nested objects joined by dots. Only what loggers and collectors
#: call so: Python's own record, python-json-logger, structlog, loguru, Ray, Elastic's common schema, Datadog,
#: OpenTelemetry, Google's and Azure's collectors
#: https://docs.python.org/3/library/logging.html#logrecord-attributes
#: https://github.com/ray-project/ray/blob/master/python/ray/_common/formatters.py
#: https://www.elastic.co/docs/reference/ecs/ecs-error
#: https://docs.datadoghq.com/standard-attributes/
#: https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs/
_OF_LOGGERS = ("exc_info", "exc_text", "stack_trace", "stacktrace", "error.stack", "exception.stacktrace")
_TRACES = (*_OF_LOGGERS, "exception", "traceback", "exception.stack_trace")
_MESSAGES = ("message", "msg", "event", "body", "log", "textPayload", "text")
_TIMES = ("time", "timestamp", "@timestamp", "asctime", "ts", "datetime", "time.repr")
_LEVELS = ("level", "levelname", "severity", "severity_text", "log.level", "level.name", "loglevel", "status")
_RANKS = ("rank", "global_rank")
_LEVEL_WORDS = {
    "ERROR": "ERROR", "ERR": "ERROR", "WARNING": "WARNING", "WARN": "WARNING", "INFO": "INFO", "NOTICE": "INFO",
    "SUCCESS": "INFO", "DEBUG": "DEBUG", "TRACE": "DEBUG", "CRITICAL": "CRITICAL", "FATAL": "FATAL",
    "ALERT": "CRITICAL", "EMERGENCY": "CRITICAL", "EXCEPTION": "ERROR",
}  # fmt: skip
_QUIET = ("INFO", "DEBUG")
_STAMP = later(ISO + ZONE)
#: an epoch in seconds, milliseconds, microseconds or nanoseconds, of the years 2001 to 2286
_EPOCHS = ((1e9, 1e10, 1), (1e12, 1e13, 1e3), (1e15, 1e16, 1e6), (1e18, 1e19, 1e9))
_DECODER = json.JSONDecoder()


class Unfolded(Stream):
    """A stream whose records are written out.

    Args:
        stream: as it was opened.

    """

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream.name, unfolded(stream), offset=stream.offset)
        self.notes = stream.notes
        self._inner = stream

    def __iter__(self) -> Iterator[bytes]:
        """Give the text in portions; what the inner stream learned of itself is known here at the end."""
        yield from super().__iter__()
        self.compression, self.encoding = self._inner.compression, self._inner.encoding


def unfolded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text with records written out where they hold a traceback.

    Args:
        chunks: portions of UTF-8; the first tells whether the log holds records at all.

    """
    source = iter(chunks)
    first = next(source, b"")
    if b'{"' not in first and b'{ "' not in first:
        yield first
        yield from source
        return
    carry = b""
    for chunk in chain((first,), source):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield _rewritten(carry + chunk[:end])
            carry = chunk[end:]
        elif len(carry) < _LONGEST_LINE:
            carry += chunk
        else:  # one line of megabytes is data
            yield carry
            carry = chunk
    if carry:
        yield _rewritten(carry)


def _rewritten(data: bytes) -> bytes:
    """Whole lines, those that hold a traceback written out."""
    if not any(each in data for each in _NEEDLES):
        return data
    return b"\n".join(_line(each) if any(needle in each for needle in _NEEDLES) else each for each in data.split(b"\n"))


def _line(line: bytes) -> bytes:
    """One line, written out where it is a record with a traceback."""
    text = line.decode("utf-8", "replace")
    opens = _OPENS.search(text, 0, _LONGEST_HEAD)
    if opens is None or len(text) > _LONGEST_LINE:
        return line
    try:
        record, end = _DECODER.raw_decode(text, opens.start())
    except (ValueError, RecursionError):
        return line
    parts = lines_of(record) if not text[end:].strip(" ,]\r") else None
    if not parts:
        return line
    head = text[: opens.start()].lstrip("[ ")
    return "\r".join([f"{head}{each}" for each in parts] if head else parts).encode("utf-8", "replace")


def lines_of(record: Any) -> list[str] | None:
    """What another logger would have written for a record; None where it is none, or holds no traceback."""
    if not isinstance(record, dict):
        return None
    fields = record if _is_flat(record) else dict(_fields(record))
    formatted = fields.get("text")
    if isinstance(formatted, str) and isinstance(record.get("record"), dict):  # loguru, which formatted it already
        return _bounded(_split(formatted)) if HEADER in formatted else None
    roles = (_roles_of if len(fields) <= _MOST_REMEMBERED else _roles_of.__wrapped__)(tuple(fields))
    level = _level(fields, roles)
    found = _trace(fields, roles, level)
    if found is None:
        return None
    said, trace = found
    stamp, rank = _stamp(fields, roles), _rank(fields, roles)
    before = f"{stamp} {level} " if stamp and level else f"{stamp} " if stamp else f"{level}: " if level else ""
    quiet = before if level in _QUIET else ""
    first, *rest = _split(said)
    parts = [f"{before}{first}", *(f"{quiet}{each}" for each in (*rest, *trace))]
    if not before:
        parts.append(" ")  # else nothing shows that the next record does not go on with the message
    return [f"{rank}{each}" for each in _bounded(parts)]


def _is_flat(record: dict[str, Any]) -> bool:
    """Whether no field holds further ones."""
    return len(record) <= _MOST_FIELDS and not any(
        isinstance(each, dict) or (isinstance(each, str) and each.startswith("{")) for each in record.values()
    )


def _fields(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every field with the names of the objects around it, those that lie deepest last; texts that are JSON opened."""
    level: list[tuple[str, dict[str, Any]]] = [("", record)]
    count = 0
    for _ in range(_DEEPEST):
        deeper: list[tuple[str, dict[str, Any]]] = []
        for before, each in level:
            for name, value in each.items():
                count += 1
                if count > _MOST_FIELDS:
                    return
                opened = _opened(value)
                if isinstance(opened, dict):
                    deeper.append((f"{before}{name}.", opened))
                yield f"{before}{name}", opened
        level = deeper


def _opened(value: Any) -> Any:
    """A text that is an object itself, as container engines keep the lines of structured loggers."""
    if isinstance(value, str) and value.startswith("{") and HEADER in value:
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return inner if isinstance(inner, dict) else value
    return value


class _Roles(NamedTuple):
    """Names of a record's fields by what they tell, in the order of the record, the outermost first."""

    messages: tuple[str, ...]
    times: tuple[str, ...]
    levels: tuple[str, ...]
    ranks: tuple[str, ...]
    traces: tuple[str, ...]


@lru_cache(maxsize=256)
def _roles_of(names: tuple[str, ...]) -> _Roles:
    """What fields of these names tell; a logger writes thousands of records with the same ones."""

    def those(wanted: tuple[str, ...]) -> tuple[str, ...]:
        ends = tuple(f".{each}" for each in wanted)
        return tuple(name for name in names if name in wanted or name.endswith(ends))

    return _Roles(those(_MESSAGES), those(_TIMES), those(_LEVELS), those(_RANKS), those(_TRACES))


def _trace(fields: dict[str, Any], roles: _Roles, level: str) -> tuple[str, list[str]] | None:
    """(message, lines of the traceback) of a record of a logger."""
    told = [fields[name] for name in roles.messages if isinstance(fields[name], str)]
    is_record = bool(level or roles.times)
    for name in roles.traces:
        value = fields[name]
        lines = _of_dicts(value) or _written(value) or _of_frames(fields, name, value)
        if lines and told and (is_record or name.rpartition(".")[2] in _OF_LOGGERS):
            message = next((each for each in told if HEADER not in each), "")
            return message, lines
    for each in told if level else ():
        at = each.find(HEADER)
        if at >= 0 and "\n" in each[at:].strip():
            start = each.rfind("\n", 0, at) + 1
            return each[:start].rstrip("\n"), _split(each[start:])
    return None


def _written(value: Any) -> list[str]:
    """Lines of a traceback in a field; some keep them as an array."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = "\n".join(each.rstrip("\n") for each in value)
    return _split(value) if isinstance(value, str) and HEADER in value else []


def _of_frames(fields: dict[str, Any], name: str, value: Any) -> list[str]:
    """A traceback of which a field holds the frames, and those beside it the type and the message."""
    around, _, own = name.rpartition(".")
    if own != _FRAMES_ALONE or not isinstance(value, str) or not value.startswith(_FRAME):
        return []
    kind, said = fields.get(f"{around}.type"), fields.get(f"{around}.message")
    if not isinstance(kind, str):
        return []
    return [f"{HEADER}:", *_split(value), *_split(f"{kind}: {said}" if said else kind)]


def _of_dicts(stacks: Any) -> list[str]:
    """A traceback in structlog's objects, the last exception first, as Python would have printed it."""
    if not isinstance(stacks, list):
        return []
    lines: list[str] = []
    for place, stack in enumerate(reversed(stacks[:64])):
        if not isinstance(stack, dict) or not isinstance(stack.get(_AS_DICTS), str):
            return []
        lines += [f"{HEADER}:", *_frames(stack.get("frames"))]
        value = stack.get("exc_value")
        lines += _split(f"{_dotted(stack)}: {value}" if value else _dotted(stack))
        if place + 1 < min(len(stacks), 64):
            lines += ["", _LINKS[bool(stack.get("is_cause"))], ""]
    return lines


_LINKS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


def _dotted(stack: dict[str, Any]) -> str:
    module = stack.get("exc_module")
    return f"{module}.{stack[_AS_DICTS]}" if isinstance(module, str) and module != "builtins" else stack[_AS_DICTS]


def _frames(frames: Any) -> Iterator[str]:
    for each in frames if isinstance(frames, list) else ():
        if isinstance(each, dict):
            yield f'  File "{each.get("filename")}", line {each.get("lineno")}, in {each.get("name")}'
            if isinstance(each.get("line"), str) and each["line"]:
                yield f"    {each['line'].strip()}"


def _level(fields: dict[str, Any], roles: _Roles) -> str:
    for name in roles.levels:
        value = fields[name]
        if isinstance(value, str) and (word := _LEVEL_WORDS.get(value.strip().upper())):
            return word
    return ""


def _stamp(fields: dict[str, Any], roles: _Roles) -> str:
    for name in roles.times:
        value = fields[name]
        if isinstance(value, str) and (match := _STAMP.match(value)):
            return match[0]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and (written := _of_epoch(value)):
            return written
    return ""


def _of_epoch(value: float) -> str:
    for low, high, per_second in _EPOCHS:
        if low <= value < high:
            seconds = value / per_second
            return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03d}Z"
    return ""


def _rank(fields: dict[str, Any], roles: _Roles) -> str:
    for name in roles.ranks:
        value = fields[name]
        if (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000) or (
            isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 6
        ):
            return f"[rank{int(value)}]: "
    return ""


def _split(text: str) -> list[str]:
    """Lines of a text, at whatever ends them for a terminal."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n").split("\n")


def _bounded(parts: list[str]) -> list[str]:
    """Parts of bounded length: of a recursion's thousand frames the outermost and those next to the end."""
    if 4 * sum(map(len, parts)) + len(parts) <= _MOST_BYTES and len(max(parts, key=len, default="")) <= _LONGEST_PART:
        return parts  # no character has more bytes
    parts = [each if len(each) <= _LONGEST_PART else f"{each[:_LONGEST_PART]} ..." for each in parts]
    if sum(len(each.encode("utf-8", "replace")) + 1 for each in parts) <= _MOST_BYTES:
        return parts
    head, tail = _within(parts, _MOST_BYTES // 3), _within(parts[::-1], _MOST_BYTES // 3 * 2)
    return [*head, *tail[::-1]]


def _within(parts: Iterable[str], room: int) -> list[str]:
    """The first of some parts, as many as have room."""
    kept: list[str] = []
    for each in parts:
        room -= len(each.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        kept.append(each)
    return kept
