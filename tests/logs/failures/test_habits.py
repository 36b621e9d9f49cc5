"""What a process catches again and again is not why a log ends; and startup bars of a server are no end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Postmortem, examine
from tests.prepared import prepared_once

HEALTHY = Path(__file__).parents[2] / "healthy" / "openrlhf-math-verifier.log"
ACTOR = "(RewardActor pid=4900) "
RAISED = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/weird_verify/parser.py", line 616, in extract
    raise Odd(text)
weird_verify.Odd: no way to read this text
"""
FATAL = RAISED.replace("call last):\n", 'call last):\n  File "/home/u/train.py", line 3, in <module>\n    main()\n')
BAR = "(EngineCore pid=4) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 11/11 [00:03<00:00,  2.1it/s]\n"


def _examined(tmp_path: Path, text: str) -> Postmortem:
    (tmp_path / "train.log").write_text(text)
    return examine([str(tmp_path / "train.log")], prepared=prepared_once())


def _told(result: Postmortem) -> list[tuple[str, str]]:
    return [(each.problem.id, each.role.value) for each in result.diagnosis.outcome.findings]


def _of_actor(text: str) -> str:
    return "".join(f"{ACTOR}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize("share", [30, 45, 60, 75, 90])
def test_a_run_that_is_cut_is_still_running(tmp_path: Path, share: int) -> None:
    lines = HEALTHY.read_text(encoding="utf-8").splitlines(keepends=True)
    told = _told(_examined(tmp_path, "".join(lines[: len(lines) * share // 100])))
    assert told[0] == ("UNK003", "cause")
    assert all(role == "contributing" for _, role in told[1:])


def test_three_times_is_a_habit_and_once_is_an_end(tmp_path: Path) -> None:
    once = _of_actor(RAISED)
    assert _told(_examined(tmp_path, once)) == [("UNK001", "cause")]
    assert _told(_examined(tmp_path, once * 3)) == [("UNK003", "cause"), ("UNK001", "contributing")]


@pytest.mark.parametrize(
    "end",
    [
        _of_actor(FATAL),
        f"{ACTOR}Fatal Python error: Segmentation fault\n",
        "slurmstepd: error: Detected 1 oom_kill event in step 1.0\n",
    ],
    ids=["gave up", "fatal", "killed"],
)
def test_where_something_ended_badly_nothing_is_a_habit(tmp_path: Path, end: str) -> None:
    assert _told(_examined(tmp_path, _of_actor(RAISED) * 3 + end))[0][0] != "UNK003"


def test_an_unlabelled_process_may_be_several(tmp_path: Path) -> None:
    assert _told(_examined(tmp_path, RAISED * 3))[0] == ("UNK001", "cause")


def test_a_long_description_before_a_bar_is_read(tmp_path: Path) -> None:
    result = _examined(tmp_path, f"INFO vLLM engine starts\n{BAR}")
    assert result.diagnosis.verdict != "healthy"
    assert result.case.marks.steps is None
