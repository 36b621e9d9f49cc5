"""Faults that are put into bytes and into JSON-like values."""

from __future__ import annotations

import json
import random

WORDS: list[object] = [
    None, True, -1, 0, 1, 1e308, float("nan"), float("inf"), 10**40, "", "x", "=cmd|' /C calc'!A0",
    "\x1b[31m\x1b]0;t\x07", "\ud800", "\0", "é" * 50, "9" * 5000, [], {},
    [[]], {"a": [1]}, "../../etc", "-1e999", "1_000", "٣",
]  # fmt: skip


def damaged(r: random.Random, data: bytes) -> bytes:
    """The bytes with one to four faults."""
    for _ in range(r.randint(0, 4)):
        lines, at = data.split(b"\n"), r.randrange(len(data) + 1)
        line, end = r.randrange(len(lines)), at + r.randrange(1, 200)
        word = r.choice(
            [b"\0" * 512, b"\x1b[2J", b"\xff\xfe", b'"', b"\r", b"[" * 20_000, b"{" * 3000, b"9" * 5000, b"\n" * 5000]
        )
        data = r.choice([
            data[:at] + bytes([r.randrange(256)]) + data[at + 1 :], data[:at] + word + data[at:],
            data[:at] + data[end:], data.replace(b"\n", b"\r\n"), data[:at], data + data,
            b"\n".join(lines[line:] + lines[:line]),
            b"\n".join([*lines[:line], lines[0], *lines[line:]]), b"\n".join(lines[1:]), data,
        ])  # fmt: skip
    return data


def twisted(r: random.Random, value: object, depth: int = 0) -> object:
    """A JSON-like value with other values in some places."""
    if r.random() < 0.12:
        return r.choice(WORDS)
    if isinstance(value, dict):
        found = {key: twisted(r, each, depth + 1) for key, each in value.items() if r.random() > 0.05}
        return found | ({str(r.choice(WORDS)): r.choice(WORDS)} if r.random() < 0.1 else {})
    if isinstance(value, list):
        return [twisted(r, each, depth + 1) for each in value] * r.choice([1, 1, 1, 2])
    return value


def as_json(r: random.Random, value: object) -> bytes:
    text = json.dumps(twisted(r, value), indent=r.choice([None, 1]))
    return damaged(r, text.encode()) if r.random() < 0.4 else text.encode()
