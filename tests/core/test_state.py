"""What is remembered between commands: the report that was kept last is the one that is meant."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.base.state import keep_last, read_newest, state_folder


def kept(name: str, cwd: Path, at_s: int) -> None:
    keep_last(name, cwd, {"findings": [], "target": {"argv": [name]}})
    os.utime(state_folder(cwd) / f"{name}.json", (at_s, at_s))


def test_the_newest_of_several(tmp_path: Path) -> None:
    assert read_newest(("check", "fix-shown"), tmp_path) is None
    for name, at_s in (("check", 100), ("fix-shown", 200)):
        kept(name, tmp_path, at_s)
        newest = read_newest(("check", "fix-shown"), tmp_path)
        assert newest is not None
        assert newest["target"]["argv"] == [name]
    kept("check", tmp_path, 300)
    newest = read_newest(("check", "fix-shown"), tmp_path)
    assert newest is not None
    assert newest["target"]["argv"] == ["check"]


def test_a_damaged_one_is_passed_over(tmp_path: Path) -> None:
    kept("check", tmp_path, 100)
    (state_folder(tmp_path) / "fix-shown.json").write_text("{")
    newest = read_newest(("check", "fix-shown"), tmp_path)
    assert newest is not None
    assert newest["target"]["argv"] == ["check"]
