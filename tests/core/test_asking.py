"""A program that is asked: bounded time, bounded answers, and nothing of it left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.base.asking import answer

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 12.4", b"12.4\n"),
        ("exit 3", None),
        ("echo out; exit 3", None),
        ("head -c 300000 /dev/zero", bytes(300_000)),
        ("cat", b""),
        ("yes", None),
        ("exec >&-; sleep 60", None),
        ("sleep 60", None),
    ],
)
def test_an_answer(script: str, told: bytes | None) -> None:
    began = time.monotonic()
    assert answer(["sh", "-c", script], seconds=1.5, most=1 << 20) == told
    assert time.monotonic() - began < 20


def test_what_it_has_started_ends_with_it(tmp_path: Path) -> None:
    assert answer(["sh", "-c", "sleep 60 & echo $! > pid; wait"], seconds=1, cwd=tmp_path) is None
    process = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    until = time.monotonic() + 20
    while process.exists() and process.read_text().split()[2] != "Z":
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_is_not_there_says_nothing() -> None:
    assert answer(["/nonexistent/program"], seconds=1) is None
    assert answer(["a\0b"], seconds=1) is None
