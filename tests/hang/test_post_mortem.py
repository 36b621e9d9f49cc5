"""A look that was taken while a run stood still is read when it has ended."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from doctor.catalogue.standing import Standing as Rank
from doctor.catalogue.standing import judge
from doctor.checks.launch.run_stood_still import of_standstill
from doctor.hang import watching
from doctor.logs.capsules import looks
from doctor.mend.processes.stacks import program

from .conftest import Standing
from .test_processes import PEER, READY, free_port

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(program() is None, reason="py-spy is not installed (pip install py-spy)"),
]

GUARDED = (
    READY
    + """
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.stuck import StuckWatch
from doctor.run.folder import RunDir
import os, time
run = RunDir(os.environ["DOCTOR_RUN_DIR"])
guard = Guard(run=run)
watch = StuckWatch(guard, at_least_s=1.0, first_s=1.0)
watch.beat(1)
ready("stands")
def waits_for_nobody(batch):
    time.sleep(600)
waits_for_nobody(12)
"""
)


def test_the_guards_word_makes_capsules_and_a_look(standing: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_LOOK_EVERY_S", 0.3)
    monkeypatch.setattr(watching, "_SETTLE_S", 0.3)
    pid = standing.start(GUARDED, name="guarded.py")
    watch = watching.Watching(standing.run)
    folder = standing.run.path / "hangs"
    end = time.monotonic() + 90
    while time.monotonic() < end and not list(folder.glob("*.json")):
        time.sleep(0.2)
    watch.close()
    (capsule,) = (json.loads(each.read_text("utf-8")) for each in (folder / watching.GUARDS).glob("*.json"))
    stands = capsule["stands"]["frames"][0]
    assert (stands["function"], capsule["process"]["pid"]) == ("waits_for_nobody", pid)
    assert capsule["failures"] == []
    (look,) = (json.loads(each.read_text("utf-8")) for each in folder.glob("*.json"))
    assert look["told"]["en"] == ["No process waits for another one."]
    assert any("waits_for_nobody" in each["at"] for each in look["processes"])


def test_the_finding_names_who_waited_for_whom(standing: Standing) -> None:
    from doctor.hang.kept import look_at

    port = str(free_port())
    standing.start(PEER, port, "a", name="left.py")
    standing.ready("listens")
    standing.start(PEER, port, "b", name="right.py")
    standing.ready("a", "b")
    assert look_at(standing.run.path) is not None
    still = judge([Rank(0, 2, 7, 300.0, 2.0, ()), Rank(1, 2, 7, 300.0, 2.0, ())])
    assert still is not None
    before = of_standstill(still)
    (finding,) = looks.told((before,), [str(standing.run.path)], {before.problem.id})
    for language, word in (("en", "Deadlock: left.py"), ("zh", "死锁:left.py")):
        words = finding.words(language)
        assert word in words.headline
        assert word in words.explanation
        assert words.explanation.endswith(before.words(language).explanation)
    assert len(finding.evidence) > len(before.evidence)
    assert looks.told((before,), [str(standing.run.path)], {"UNK001"}) == (before,)


def test_what_is_no_look_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "hangs"
    folder.mkdir()
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"schema": "doctor-hang/1"}'), ("d", '{"schema": "other"}')):
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    assert looks.last([str(tmp_path)]) is None
