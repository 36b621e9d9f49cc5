"""Runs that report success right after a part of them failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

STEP = "(Trainer pid=18840) step:37 - actor/pg_loss:0.012 - critic/score/mean:0.41\n"
FAILED = "(Rollouter pid=18712) [Rollouter] streaming generation raised: RuntimeError: no route\n"
END = "(Trainer pid=18840) [Trainer] training finished\n(Runner pid=18600) all components completed\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STEP + FAILED + END, True),
        (STEP + FAILED + STEP + END, False),  # it went on
        (STEP + END, False),
        (STEP + FAILED, False),
        (FAILED + END, False),  # nothing tells that anything ran
        (STEP + FAILED.replace("streaming generation", "closing the writer") + END, False),
        (STEP + FAILED.replace("streaming generation", "request 7") + END, False),
    ],
)
def test_a_failure_that_others_take_for_the_end(tmp_path: Path, text: str, told: bool) -> None:
    (tmp_path / "run.log").write_text(text)
    diagnosis = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis
    found = [each for each in diagnosis.outcome.findings if each.problem.id == "LCH8772"]
    assert told == any("reports success, but a part of it failed" in each.words().headline for each in found)
    assert not told or diagnosis.verdict != "healthy"
