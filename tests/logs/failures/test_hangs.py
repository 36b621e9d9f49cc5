"""Runs that stood still before they were ended, and pauses that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Postmortem, Prepared, examine
from tests.prepared import prepared_once

STEP = "{{'loss': 0.1, 'grad_norm': 0.5, 'reward': 0.{step}, 'epoch': 0.1}}\n"
CLOSING = (
    "W1120 15:09:16.259000 77 torch/distributed/elastic/multiprocessing/api.py:1028] "
    "Sending process 79 closing signal SIGTERM\n"
)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def bar(step: int, elapsed_s: int, total: int = 40, what: str = "") -> str:
    clock = f"{elapsed_s // 60:02}:{elapsed_s % 60:02}"
    return f"\r{what}{step * 100 // total:3}%|###       | {step}/{total} [{clock}<10:00,  2.00s/it]"


def run(steps: int = 9, each_s: int = 2) -> str:
    return "".join(bar(step, step * each_s) for step in range(1, steps + 1))


def examined(tmp_path: Path, prepared: Prepared, *texts: str) -> Postmortem:
    paths = [tmp_path / f"log{number}.log" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return examine([str(path) for path in paths], prepared=prepared)


def ids(result: Postmortem) -> list[str]:
    return [each.problem.id for each in result.diagnosis.outcome.findings]


def test_a_bar_that_is_drawn_again_long_after_its_step(tmp_path: Path, prepared: Prepared) -> None:
    result = examined(tmp_path, prepared, run() + bar(9, 18 + 600) + "\n" + CLOSING)
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.confidence.value, first.where.step) == ("LCH023", "likely", 9)
    assert "No step for 10 min after step 9 of 40" in first.words().headline
    assert result.diagnosis.verdict == "known"
    assert "UNK002" not in ids(result)


SIGNALLED = (
    "Traceback (most recent call last):\n"
    '  File "/x/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/api.py", line 84, in handler\n'
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15\n"
)


@pytest.mark.parametrize(
    "end", [SIGNALLED, "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO TIME LIMIT ***\n"]
)
def test_who_ended_a_run_that_stood_still_is_not_to_blame(tmp_path: Path, prepared: Prepared, end: str) -> None:
    stood = examined(tmp_path, prepared, run() + bar(9, 18 + 600) + "\n" + CLOSING + end).diagnosis.outcome.findings
    assert stood[0].problem.id == "LCH023"
    assert stood[1].role.value == "symptom"
    assert ids(examined(tmp_path, prepared, run() + "\n" + CLOSING + end))[0] == stood[1].problem.id


@pytest.mark.parametrize(
    "end",
    [
        bar(9, 18 + 15),  # a slow step, cut off
        bar(9, 18 + 600) + "\nSaving model checkpoint to out/checkpoint-9",
        "\nSaving model checkpoint to out/checkpoint-9\n" + bar(9, 18 + 600),
        bar(3, 30, 44, "Evaluating: ") + bar(9, 18 + 600),
    ],
    ids=["slow-step", "saved-after", "saved-before", "evaluated"],
)
def test_pauses_that_are_none(tmp_path: Path, prepared: Prepared, end: str) -> None:
    assert "LCH023" not in ids(examined(tmp_path, prepared, run() + end + "\n" + CLOSING))


def test_a_run_that_failed_by_itself_did_not_stand_still(tmp_path: Path, prepared: Prepared) -> None:
    failure = 'Traceback (most recent call last):\n  File "/x/train.py", line 3, in <module>\nValueError: no\n'
    assert ids(examined(tmp_path, prepared, run() + bar(9, 18 + 600) + "\n" + failure))[0] == "UNK001"


def test_a_run_that_ended_well_did_not_stand_still(tmp_path: Path, prepared: Prepared) -> None:
    done = run(40) + bar(40, 80 + 600) + "\n{'train_runtime': '680.0', 'train_loss': '0.1'}\n"
    assert ids(examined(tmp_path, prepared, done)) == []


def stamped(rank: int, minutes: range, text: str) -> str:
    return "".join(
        f"[2026-11-20 {10 + minute // 60:02}:{minute % 60:02}:00,000] [INFO] [Rank {rank}] "
        + text.format(step=minute + 1)
        + "\n"
        for minute in minutes
    )


def test_stamps_tell_how_long_and_who_fell_silent(tmp_path: Path, prepared: Prepared) -> None:
    steps = stamped(0, range(10), "step:{step} - actor/pg_loss:0.1 - critic/score/mean:0.{step}")
    waiting = stamped(0, range(10, 60), "still waiting for the other ranks")
    first = examined(
        tmp_path, prepared, steps + waiting + CLOSING.replace("15:09", "11:00"), stamped(1, range(10), "sampled")
    ).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.step, first.where.rank) == ("LCH023", 10, 1)
    assert "No step for 51 min" in first.words().headline
    assert "The last message of rank 1 is" in first.words().explanation


def test_a_longer_pause_before_makes_a_pause_usual(tmp_path: Path, prepared: Prepared) -> None:
    steps = stamped(0, range(0, 120, 12), "step:{step} - actor/pg_loss:0.1 - critic/score/mean:0.{step}")
    end = stamped(0, range(140, 141), "the job reached its limit")
    assert "LCH023" not in ids(examined(tmp_path, prepared, steps + end))


def test_a_server_that_waits_for_requests_is_no_hang(tmp_path: Path, prepared: Prepared) -> None:
    lines = (
        f"INFO 11-20 10:{minute:02}:00 [loggers.py:122] Engine 000: Avg prompt throughput: 5.0 tokens/s, "
        "Avg generation throughput: 9.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.4%\n"
        for minute in range(10)
    )
    end = "INFO 11-20 18:00:00 [launcher.py:110] Shutting down FastAPI HTTP server.\n"
    assert ids(examined(tmp_path, prepared, "".join(lines) + end)) == []
