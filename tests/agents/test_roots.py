"""Paths that an agent names: inside they are taken, whatever leads out is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.agents.roots import OutsideError, Roots


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "train.log").write_text("a line\n")
    (tmp_path / "secret.txt").write_text("a secret\n")
    return folder


def test_a_path_inside_is_taken(inside: Path) -> None:
    roots = Roots([inside])
    assert roots.path("train.log") == inside / "train.log"
    assert roots.path(str(inside / "train.log")) == inside / "train.log"


@pytest.mark.parametrize("named", ["../secret.txt", "/etc/passwd", "x/../../secret.txt", "absent.log", "", "a\0b", "~"])
def test_a_path_that_leads_out_or_is_not_there_is_refused(inside: Path, named: str) -> None:
    with pytest.raises(OutsideError):
        Roots([inside]).path(named)


def test_a_link_that_leads_out_is_refused_itself_and_inside_of_a_folder(inside: Path) -> None:
    logs = inside / "logs"
    logs.mkdir()
    (logs / "rank0.log").symlink_to(inside.parent / "secret.txt")
    roots = Roots([inside])
    with pytest.raises(OutsideError, match="leads out"):
        roots.path("logs/rank0.log")
    with pytest.raises(OutsideError, match=r"rank0\.log"):
        roots.tree("logs")


def test_a_link_that_stays_inside_is_taken(inside: Path) -> None:
    (inside / "last").symlink_to(inside / "train.log")
    assert Roots([inside]).tree("last") == inside / "train.log"
    assert Roots([inside]).tree(".") == inside


def test_a_second_root_is_allowed(inside: Path) -> None:
    assert Roots([inside, inside.parent]).path("../secret.txt") == inside.parent / "secret.txt"


def test_a_name_that_only_begins_like_a_root_is_outside(inside: Path) -> None:
    beside = inside.parent / "inside-not"
    beside.mkdir()
    with pytest.raises(OutsideError):
        Roots([inside]).path(str(beside))
    assert not Roots([inside]).shows(str(beside / "train.py"))


@pytest.mark.parametrize(
    "command",
    ["python ../secret.txt", "python train.py --config=../secret.txt", "trl grpo --config_file /etc/passwd"],
)
def test_a_command_that_names_a_file_outside_is_refused(inside: Path, command: str) -> None:
    with pytest.raises(OutsideError):
        Roots([inside]).words(command)


def test_a_command_may_name_programs_and_what_is_no_path(inside: Path) -> None:
    command = "VAR=1 python train.py --model Qwen/Qwen2.5-0.5B --lr 1e-6 -- x"
    assert Roots([inside]).words(command)[1] == "python"
    with pytest.raises(OutsideError, match="cannot be split"):
        Roots([inside]).words("python 'train.py")


def test_an_interpreter_inside_may_be_a_link_and_one_outside_is_refused(inside: Path) -> None:
    programs = inside / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to("/bin/sh")
    outside = inside.parent / "evil"
    outside.write_text("#!/bin/sh\n")
    outside.chmod(0o755)
    roots = Roots([inside])
    assert roots.program("venv/bin/python") == str(programs / "python")
    assert roots.words("venv/bin/python train.py")[0] == "venv/bin/python"
    with pytest.raises(OutsideError):
        roots.program(str(outside))
    with pytest.raises(OutsideError):
        roots.words(f"{outside} train.py")


def test_what_may_be_quoted(inside: Path) -> None:
    roots = Roots([inside])
    assert roots.shows(str(inside / "train.py"))
    assert roots.shows("environment")
    assert roots.shows("/proc/meminfo")
    assert not roots.shows("/etc/passwd")
    assert not roots.shows(os.fspath(inside.parent / "secret.txt"))
