"""The run folder: names, whole lines, torn lines, a full disk, events and phases, under an old Python too."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import doctor
from doctor.run.appender import Appender
from doctor.run.folder import Events, RunDir, cell, read_events, read_rows
from tests.e2e.environments import python_of

ROOT = Path(doctor.__file__).parents[1]


def test_folders_of_one_second_differ(tmp_path: Path) -> None:
    runs = [RunDir.create("train grpo/v1", tmp_path) for _ in range(3)]
    assert len({run.path for run in runs}) == 3
    assert all(run.path.name.split("Z-")[1].startswith("train-grpo-v1") for run in runs)


def test_run_json_is_added_to_and_survives_nonsense(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert run.read_run() == {}
    run.write_run(argv=["python", "x.py"], ended_ns=None)
    run.write_run(exit=3)
    assert run.read_run() == {"schema": "doctor-run/1", "argv": ["python", "x.py"], "ended_ns": None, "exit": 3}
    run.run_json.write_text('{"argv": ["pyth')
    assert run.read_run() == {}


def test_events_come_back_in_order_and_torn_ones_do_not(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    writer = Events(run, rank=1, role="trainer")
    assert writer.write("alarm", id="NUM001", step=7, name="loss")
    writer.close()
    other = run.events("other", 5)
    other.write_text(
        '{"t_ns": 1, "kind": "start"}\nno json\n{"t_ns": 2, "kind": "unheard-of"}\n{"t_ns": 3, "kind": "en'
    )
    first, second = run.read_events()
    assert first["t_ns"] == 1
    assert (second["rank"], second["role"], second["step"], second["id"]) == (1, "trainer", 7, "NUM001")
    assert second["data"] == {"name": "loss"}
    with pytest.raises(ValueError, match="no such kind"):
        writer.write("nonsense")


def test_a_torn_last_line_is_finished_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3")
    writer = Appender(path)
    assert writer.write("5,6\n")
    writer.close()
    assert list(read_rows(path)) == [{"a": "1", "b": "2"}, {"a": "5", "b": "6"}]


def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    """A limit on the file's size stands in for the full disk: a write succeeds in part, then fails."""
    path = tmp_path / "a.csv"
    writer = Appender(path)
    assert writer.write("a,b\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6, before[1]))
    try:
        assert not writer.write("1,2\n")
        assert not writer.write("3,4\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert writer.lost == 2
    assert writer.write("5,6\n")
    writer.close()
    assert list(read_rows(path)) == [{"a": "5", "b": "6"}]


def test_cells_keep_to_their_column() -> None:
    assert [cell(each) for each in (1, 2.5, "a,b\nc", 12345678901234567890)] == [
        "1",
        "2.5",
        "a b c",
        "12345678901234567890",
    ]


def test_missing_files_are_empty(tmp_path: Path) -> None:
    assert RunDir(tmp_path / "nothing").read_events() == []
    assert list(read_rows(tmp_path / "nothing.csv")) == []


PHASES = """
import os, doctor
with doctor.phase("generation", step=3):
    with doctor.phase("judging"):
        pass
    if os.fork() == 0:
        with doctor.phase("reward"):
            os._exit(0)
    os.wait()
"""


@pytest.mark.process
@pytest.mark.parametrize("version", ["3.9", None], ids=["python3.9", "own"])
def test_phases_from_inside_the_patient(tmp_path: Path, version: str | None) -> None:
    python = python_of(version) if version else sys.executable
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RANK": "2", "PYTHONWARNINGS": "ignore"}
    subprocess.run([python, "-c", PHASES], env={**env, "DOCTOR_RUN_DIR": str(tmp_path)}, check=True, timeout=60)
    events = RunDir(tmp_path).read_events()
    said = [(each["data"]["name"], each["data"]["edge"]) for each in events]
    assert said == [
        ("generation", "begin"),
        ("other", "begin"),
        ("other", "end"),
        ("reward", "begin"),
        ("generation", "end"),
    ]
    assert events[1]["data"]["label"] == "judging"
    assert (events[0]["rank"], events[0]["step"]) == (2, 3)
    assert len(list((tmp_path / "events").iterdir())) == 2  # the forked child wrote a file of its own
    subprocess.run([python, "-c", PHASES], env=env, check=True, timeout=60, cwd=tmp_path)  # outside of a run: nothing


def test_an_event_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file where the folder should be")
    assert not Events(RunDir(tmp_path)).write("start")
    assert list(read_events(tmp_path / "events" / "x.jsonl")) == []
