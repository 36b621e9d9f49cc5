"""A program that is asked: bounded time, bounded answers, and nothing of it left behind."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from doctor.base.asking import Answered, answer, asked

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


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("sleep 60 & echo x; echo y >&2", Answered(0, b"x\n", b"y\n")),  # what it leaves behind holds both outputs
        ("sleep 60 >/dev/null & echo x; exit 4", Answered(4, b"x\n", b"")),
        ("(sleep 60; echo late) & exit 0", Answered(0, b"", b"")),
        ("echo begun; sleep 60", Answered(None, b"begun\n", b"")),
        ("echo begun >&2; exec 2>&-; sleep 60 | sleep 60", Answered(None, b"", b"begun\n")),
        ("kill -9 $$", Answered(-9, b"", b"")),
        ("head -c 400000 /dev/zero >&2", Answered(0, b"", bytes(400_000))),
    ],
)
def test_both_outputs_and_the_end(script: str, told: Answered) -> None:
    began = time.monotonic()
    assert asked(["sh", "-c", script], seconds=3) == told
    assert time.monotonic() - began < 20


def test_who_prints_without_end_is_ended() -> None:
    done = asked(["sh", "-c", "yes >&2 & yes"], seconds=60, most=1 << 20)
    assert done.code is None
    assert len(done.out) + len(done.err) < 2 << 20


def test_whoever_is_asked_for_an_answer_in_a_time_is_asked_here() -> None:
    """`subprocess.run` with a time-out waits without end for what a program that it has ended has left behind."""
    root = Path(__file__).parents[2]
    found = set()
    for path in (each for folder in ("doctor", "monitors", "fixes") for each in (root / folder).rglob("*.py")):
        text = path.read_text()
        for call in ast.walk(ast.parse(text)) if "subprocess" in text else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in (
                "run", "check_output", "getoutput", "communicate",
            ):  # fmt: skip
                named = {each.arg for each in call.keywords}
                if "timeout" in named and named & {"capture_output", "stdout", "stderr"}:
                    found.add(str(path.relative_to(root)))
    assert not found


def test_what_it_has_started_ends_with_it(tmp_path: Path) -> None:
    assert answer(["sh", "-c", "sleep 60 & echo $! > pid; wait"], seconds=1, cwd=tmp_path) is None
    process = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    until = time.monotonic() + 20
    while process.exists() and process.read_text().split()[2] != "Z":
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_it_is_given_is_read_to_the_end() -> None:
    given = b"x" * 300_000
    assert asked(["cat"], seconds=20, given=given) == Answered(0, given, b"")
    assert asked(["true"], seconds=20, given=given) == Answered(0, b"", b""), "nobody waits for a reader"


def test_what_is_not_there_says_nothing() -> None:
    assert answer(["/nonexistent/program"], seconds=1) is None
    assert answer(["a\0b"], seconds=1) is None
