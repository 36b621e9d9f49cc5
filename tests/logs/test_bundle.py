"""The archive of a post-mortem over many logs: what is left out of it, and that it is said."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from doctor.cli.app import run
from doctor.logs import bundle

_RANKS = 40
_FAILED, _FAILED_LATER = 31, 12


def _log(rank: int) -> str:
    lines = [f"[rank{rank}]: 2026-05-01 10:00:{number % 60:02d} step {number}" for number in range(60)]
    if rank in {_FAILED, _FAILED_LATER}:
        minute = 1 if rank == _FAILED else 2
        lines += [
            f"[rank{rank}]: 2026-05-01 10:0{minute}:00 now",
            f"[rank{rank}]: Traceback (most recent call last):",
            f'[rank{rank}]:   File "train.py", line 7, in <module>',
            f"[rank{rank}]: ZeroDivisionError: division by zero",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    for rank in range(_RANKS):
        (logs / f"rank{rank}.log").write_text(_log(rank))
    return logs


def _written(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str], str]:
    """Names of the logs in the archive in their order, lines of left-out.txt, what was said."""
    path = folder.parent / "b.tar.gz"
    run(["postmortem", str(folder), "--bundle", str(path), "-o", str(folder.parent / "out.txt")])
    with tarfile.open(path) as archive:
        names = [each.name for each in archive]
        told = archive.extractfile("left-out.txt").read().decode() if "left-out.txt" in names else ""  # type: ignore[union-attr]
    return (
        [each.split("-", 1)[1] for each in names if each.startswith("logs/")],
        told.splitlines(),
        capsys.readouterr().err,
    )


def test_ranks_that_failed_come_first_and_the_rest_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "_MOST_LOGS", 5)
    logs, left_out, said = _written(folder, capsys)
    assert logs[:2] == [f"rank{_FAILED}.log", f"rank{_FAILED_LATER}.log"]
    assert len(logs) == 5
    assert len(left_out) == _RANKS - 5
    assert not {Path(each).name for each in left_out} & set(logs)
    assert f"without {_RANKS - 5} of {_RANKS} logs" in said


def test_bytes_are_limited_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "_MOST_BYTES", 3 * len(_log(0)))
    logs, left_out, _ = _written(folder, capsys)
    assert logs[0] == f"rank{_FAILED}.log"
    assert len(logs) == 3
    assert len(left_out) == _RANKS - 3


def test_links_to_one_file_are_added_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rank40.log").symlink_to("rank3.log")
    logs, left_out, said = _written(folder, capsys)
    assert len(logs) == _RANKS
    (only,) = left_out
    assert "the same file as logs/" in only
    assert f"without 1 of {_RANKS + 1} logs" in said


def test_few_logs_are_all_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs, left_out, said = _written(folder, capsys)
    assert sorted(logs) == sorted(f"rank{rank}.log" for rank in range(_RANKS))
    assert not left_out
    assert "without" not in said
