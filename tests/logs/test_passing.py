"""A traceback below a record that says it tries again is no end where the log ends well, and stays one elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine, prepare

PREPARED = prepare()
#: wandb's debug.log of a run whose network failed once, see its sources.toml
TRIED = (Path(__file__).parents[1] / "signatures" / "TRK005" / "hit-tried-again.log").read_text().rstrip("\n")
HEAD = "2025-11-26 14:5{} INFO    MainThread:4019212 [{}] {}"
STARTED = HEAD.format("1:12,241", "wandb_init.py:init():1080", "run started, returning control to user process")
ENDED = HEAD.format("1:55,600", "wandb_run.py:_atexit_cleanup():2469", "got exitcode: {}")
RESTORED = HEAD.format("1:55,601", "wandb_run.py:_restore():2451", "restore")


def verdict(tmp_path: Path, *lines: str) -> tuple[str, list[str]]:
    path = tmp_path / "debug.log"
    path.write_text("\n".join(lines) + "\n")
    diagnosis = examine([str(path)], prepared=PREPARED).diagnosis
    return diagnosis.verdict, [each.problem.id for each in diagnosis.outcome.findings]


def test_a_run_that_ends_with_zero_after_attempts_is_well(tmp_path: Path) -> None:
    assert verdict(tmp_path, TRIED, STARTED, ENDED.format(0), RESTORED) == ("healthy", [])


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param((), id="nothing follows"),
        pytest.param((STARTED,), id="no end is told"),
        pytest.param((STARTED, ENDED.format(1), RESTORED), id="it failed"),
    ],
)
def test_attempts_alone_speak_where_no_good_end_is_told(tmp_path: Path, behind: tuple[str, ...]) -> None:
    told, problems = verdict(tmp_path, TRIED, *behind)
    assert (told, problems[0]) == ("known", "TRK005")


@pytest.mark.parametrize("word", ["WARNING", "ERROR"])
def test_what_is_told_louder_speaks(tmp_path: Path, word: str) -> None:
    louder = TRIED.replace("INFO    Thread", f"{word} Thread")
    assert louder != TRIED
    assert "TRK005" in verdict(tmp_path, louder, STARTED, ENDED.format(0), RESTORED)[1]


def test_a_record_that_says_nothing_of_another_attempt_hides_nothing(tmp_path: Path) -> None:
    other = TRIED.replace("Retry attempt failed", "the request has the id 7")
    assert other != TRIED
    assert "TRK005" in verdict(tmp_path, other, STARTED, ENDED.format(0), RESTORED)[1]
