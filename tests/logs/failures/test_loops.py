"""Logs that end in a loop that waits, and bars of other work that are drawn again long after."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.postmortem import Prepared, examine
from tests.prepared import prepared_once

FAILED = "RuntimeError: Rollout batch failed to buffer prompt groups\n"
COUNTS = "".join(f"Wait iteration {number}: buffer_size=0, step 0 ready=False\n" for number in range(400, 406))
STAMPED = "".join(f"2026-01-05 10:{minute:02}:00,000 INFO client.py:31 -- Still waiting for the buffer\n"
                  for minute in range(0, 40, 5))  # fmt: skip
BAR = "Generation Buffer:  97%|#########| 125/128 [{elapsed}<00:51, 17.10s/it]"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def all_of(tmp_path: Path, prepared: Prepared, text: str) -> tuple[Finding, ...]:
    log = tmp_path / "run.log"
    log.write_text(text)
    return examine([str(log)], prepared=prepared).diagnosis.outcome.findings


def first(tmp_path: Path, prepared: Prepared, text: str) -> Finding:
    return all_of(tmp_path, prepared, text)[0]


def test_what_a_loop_waits_for_failed_before(tmp_path: Path, prepared: Prepared) -> None:
    found = first(tmp_path, prepared, FAILED + COUNTS)
    assert (found.problem.id, found.confidence.value, found.where.line) == ("LCH023", "likely", 7)
    assert "failed before: RuntimeError: Rollout batch failed to buffer" in found.words().headline


@pytest.mark.parametrize("text", [COUNTS, STAMPED])
def test_a_loop_that_nothing_failed_before(tmp_path: Path, prepared: Prepared, text: str) -> None:
    found = first(tmp_path, prepared, text)
    assert found.problem.id == "LCH023"
    assert "failed before" not in found.words().headline


@pytest.mark.parametrize(
    "text",
    [
        COUNTS.replace("40", "1"),  # an engine that starts is waited for
        STAMPED[: len(STAMPED) // 8 * 2],
        COUNTS.replace("Wait ", "").replace("ready=False", "done"),  # nothing says that it waits
        COUNTS + "Training completed\n",
    ],
)
def test_what_is_no_loop_that_waits(tmp_path: Path, prepared: Prepared, text: str) -> None:
    assert "LCH023" not in {each.problem.id for each in all_of(tmp_path, prepared, text)}


def test_a_bar_of_other_work_that_stands_still(tmp_path: Path, prepared: Prepared) -> None:
    found = first(tmp_path, prepared, f"{BAR.format(elapsed='44:12')}\n{BAR.format(elapsed='1:48:12')}\n")
    assert found.problem.id == "LCH023"
    assert "No progress for 64 min at 125 of 128 of `Generation Buffer`" in found.words().headline


def test_the_longest_parts_come_last(tmp_path: Path, prepared: Prepared) -> None:
    found = first(tmp_path, prepared, f"{BAR.format(elapsed='44:12')}\n{BAR.format(elapsed='52:12')}\n")
    assert found.problem.id != "LCH023"


STANDS = "(Controller) version 0: waiting for batch, accepted 1/2\n"
FULL = "(Executor rank 0) task 2 queued; capacity 0\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STANDS + FULL + STANDS + "[TP0] Decode batch. #running-req: 0, #token: 0\n" + STANDS, "(capacity 0)"),
        (STANDS + "[TP0] Decode batch. #running-req: 0, #token: 0\n" + STANDS + STANDS, "(running-req: 0)"),
        (STANDS + FULL + STANDS.replace("1/2", "0/2") + STANDS, ""),  # it moves
        (STANDS + FULL + STANDS, ""),
        (STANDS + FULL.replace("capacity 0", "capacity 10") + STANDS + STANDS, ""),
        (STANDS.replace("1/2", "2/2") + FULL + STANDS.replace("1/2", "2/2") * 2, ""),
    ],
)
def test_a_count_that_stands_while_nothing_works_on_the_rest(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "run.log").write_text(text)
    (tmp_path / "context.txt").write_text("rollout.max_concurrent_rollouts: 2\n")
    outcome = examine(
        [str(tmp_path / "run.log")], context=[tmp_path / "context.txt"], prepared=prepared_once()
    ).diagnosis.outcome
    words = [each.words() for each in outcome.findings if each.problem.id == "LCH023"]
    assert bool(told) == any("does not move" in each.headline and told in each.headline for each in words)
    assert not told or "`max_concurrent_rollouts=2`" in words[0].explanation
