"""Several runs in one file: the last one is judged, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from doctor.logs.read.appended import last_run
from tests.prepared import prepared_once

NOHUP = "nohup: ignoring input"
START = "12:00:01 loading the model from /models/tiny"
AGAIN = "13:30:59 loading the model from /models/tiny"
METRIC = "{{'loss': {}, 'grad_norm': 1.0, 'learning_rate': 1e-06, 'epoch': {}}}"


def failure(message: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "/home/me/train.py", line 3, in <module>',
        "    main()",
        message,
    ]


NO_SPACE = failure("OSError: [Errno 28] No space left on device")
NO_MODULE = failure("ModuleNotFoundError: No module named 'trl'")


def begun(clock: str, pid: int, model: str = "Qwen/Qwen3-8B") -> list[str]:
    """What a script prints at its start, long line by long line."""
    return [
        f"2026-11-20 {clock},123 INFO launching train.py with 8 processes",
        f"[{clock}] {model}: reading the configuration of the model",
        f"process {pid} listens on port {pid + 4000} of this machine",
        "the reward functions are format and accuracy",
        f"loading /models/{model}/config.json from the disk",
        "the dataset has 7473 rows, none was filtered out",
    ]


FIRST, SECOND = begun("10:00:01", 4711), begun("11:30:59", 5822)
STAGE = begun("11:30:59", 5822, "out/stage1")


def numbered(*parts: list[str]) -> list[tuple[int, str]]:
    return list(enumerate((line for part in parts for line in part), 1))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (([NOHUP], NO_SPACE, [NOHUP], NO_MODULE), (6, 2)),  # the same script
        (([NOHUP, START], NO_SPACE, [NOHUP, AGAIN], ["training"]), (7, 2)),  # the last one still goes on
        (([NOHUP, START], ["{'train_runtime': 3.0}"], [NOHUP, AGAIN], NO_MODULE), (4, 2)),
        (([NOHUP, START], NO_SPACE, [NOHUP, AGAIN], NO_MODULE, [NOHUP, AGAIN], NO_SPACE), (13, 3)),
        (([NOHUP, NOHUP, START], NO_SPACE), None),  # two programs of one run
        (
            ([NOHUP, "vllm serve on port 8000"], NO_SPACE, [NOHUP, START], ["training"]),
            None,
        ),  # a server, then a trainer
        (([START], NO_SPACE, [AGAIN], NO_MODULE), None),  # may be the next stage of a script
        ((["```", NOHUP], NO_SPACE, [NOHUP], NO_MODULE), None),  # a pasted thread
        ((NO_SPACE, NO_MODULE), None),
        ((FIRST, NO_SPACE, SECOND, NO_MODULE), (11, 2)),  # the same beginning, line by line
        ((FIRST, NO_SPACE, SECOND, ["training"], NO_MODULE, SECOND), (22, 3)),
        ((FIRST, ["training"], SECOND, NO_MODULE), None),  # the first run goes on: two processes of one run
        ((FIRST, FIRST[:3], NO_SPACE, SECOND, NO_MODULE), None),  # several ranks
        ((FIRST, NO_SPACE, STAGE, NO_MODULE), None),  # the next stage reads what the first should have written
        ((FIRST, NO_SPACE, SECOND[:4], NO_MODULE), None),  # too little to tell
        ((FIRST, NO_SPACE, ["[default] will restart worker group"], SECOND, NO_MODULE), None),  # of one run
        ((["```"], FIRST, NO_SPACE, SECOND, NO_MODULE), None),
    ],
)
def test_where_the_last_run_begins(parts: tuple[list[str], ...], expected: tuple[int, int] | None) -> None:
    last = last_run(numbered(*parts))
    assert (last and last[:2]) == expected


def test_the_last_run_is_judged_and_the_report_says_so(tmp_path: Path) -> None:
    log = tmp_path / "nohup.out"
    bad = [METRIC.format("nan", step / 10) for step in range(30)]
    good = [METRIC.format(0.5 - step / 100, step / 10) for step in range(30)]
    log.write_text("\n".join([NOHUP, START, *bad, *NO_SPACE, NOHUP, AGAIN, *good, *NO_MODULE]) + "\n")
    report = examine([str(log)], prepared=prepared_once()).diagnosis
    found = [each.problem.id for each in report.outcome.findings]
    assert "trl" in report.outcome.findings[0].words().headline
    assert not {"NUM001", "HST009", "HST010"} & set(found), found
    assert all(
        place.line is None or place.line > len(bad) for place in (each.where for each in report.outcome.findings)
    )
    assert (
        "the last of 2 runs in nohup.out (from line 37, the one before it ended with OSError)" in report.target.summary
    )


def test_metrics_of_earlier_runs_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "nohup.out"
    bad = [METRIC.format("nan", step / 10) for step in range(30)]
    good = [METRIC.format(0.5 - step / 100, step / 10) for step in range(30)]
    log.write_text("\n".join([NOHUP, START, *bad, "Killed", NOHUP, AGAIN, *good, "{'train_runtime': 9.0}"]) + "\n")
    assert not examine([str(log)], prepared=prepared_once()).diagnosis.outcome.findings
    log.write_text("\n".join([NOHUP, *bad, "{'train_runtime': 9.0}"]) + "\n")
    assert examine([str(log)], prepared=prepared_once()).diagnosis.outcome.findings
