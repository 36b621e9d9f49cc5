"""Exceptions that stand in no log, whatever a damaged or foreign run folder says of the process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.diagnosis.report import as_dict
from doctor.logs.capsules.read import Capsule, CapsuleFailure, CapsuleFrame, CapsuleLink, Capsules
from doctor.logs.postmortem import examine
from doctor.logs.recorded import Written
from doctor.run.folder import host_name
from tests.prepared import prepared_once

TRACE = 'Traceback (most recent call last):\n  File "/a/train.py", line 3, in <module>\n    f()\nValueError: own\n'


@pytest.mark.parametrize("rank", [None, 0, int("9" * 18)])
@pytest.mark.parametrize(
    "host",
    ["h" * 5000, "节" * 90, "../../outside", "/etc/x", "a\0b", "\ud800", "", "..", "node-1"],
    ids=["long", "Chinese", "above", "absolute", "NUL", "surrogate", "empty", "dots", "plain"],
)
def test_any_host_name_is_one(host: str, rank: int | None, tmp_path: Path) -> None:
    run = tmp_path / "below" / "run"
    (run / "events").mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"schema": "doctor-run/1", "argv": ["python"], "exit": 1}))
    event = {
        "t_ns": 10**18, "host": host, "pid": 7, "rank": rank, "role": "trainer", "step": 3, "kind": "exception",
        "data": {"type": "ValueError", "text": "own", "traceback": TRACE},
    }  # fmt: skip
    (run / "events" / f"{host_name()}-7.jsonl").write_text(json.dumps(event) + "\n")
    before = sorted(tmp_path.rglob("*"))
    diagnosis = examine((str(run),), run_dir=str(run), prepared=prepared_once()).diagnosis
    assert "ValueError" in json.dumps(as_dict(diagnosis)["findings"])
    assert sorted(tmp_path.rglob("*")) == before


def test_two_long_names_are_two_logs(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for number in range(2):
        event = {
            "t_ns": 10**18 + number, "host": "h" * 4000 + str(number), "pid": 7, "rank": None, "role": "trainer",
            "step": 3, "kind": "exception",
            "data": {"type": "ValueError", "text": f"own {number}", "traceback": TRACE.replace("own", f"own {number}")},
        }  # fmt: skip
        (tmp_path / "events" / f"{number}.jsonl").write_text(json.dumps(event) + "\n")
    written = Written(Capsules(), [str(tmp_path)])
    logs = [each.read_text() for folder in written.paths for each in sorted(Path(folder).glob("*.log"))]
    assert sorted(logs) == [TRACE.replace("own", f"own {number}") for number in range(2)]


@pytest.mark.parametrize(
    ("places", "kept"),
    [
        ((("<string>", "<module>"),), False),
        ((("<string>", "<module>"), ("/site-packages/torch/__init__.py", "<module>")), True),
        ((("<string>", "main"),), True),
        ((("/a/probe.py", "<module>"),), True),
    ],
)
def test_what_a_shell_asked_and_nobody_printed_is_no_failure(
    places: tuple[tuple[str, str], ...], tmp_path: Path, *, kept: bool
) -> None:
    frames = tuple(CapsuleFrame(file, 1, function, own=False) for file, function in reversed(places))
    link = CapsuleLink("builtins.ModuleNotFoundError", "No module named 'torch_npu'", frames)
    failure = CapsuleFailure("excepthook", ends=True, code=None, t_ns=1, chain=(link,))
    written = Written(Capsules((Capsule(str(tmp_path / "probe.json"), {}, (failure,)),)), [str(tmp_path)])
    assert bool(written.paths) is kept
    (tmp_path / "events").mkdir()
    lines = "".join(f'  File "{file}", line 1, in {function}\n' for file, function in places)
    text = "No module named 'torch_npu'"
    data = {
        "type": "ModuleNotFoundError",
        "text": text,
        "traceback": f"Traceback:\n{lines}ModuleNotFoundError: {text}\n",
    }
    event = {
        "t_ns": 1,
        "host": "h",
        "pid": 7,
        "rank": None,
        "role": "trainer",
        "step": None,
        "kind": "exception",
        "data": data,
    }
    (tmp_path / "events" / "h-7.jsonl").write_text(json.dumps(event) + "\n")
    assert bool(Written(Capsules(), [str(tmp_path)]).paths) is kept
