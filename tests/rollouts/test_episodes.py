"""Episodes of agents in kept rollouts of every framework: failures of the environment that were graded are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.catalogue.problem import ERROR, WARNING
from doctor.logs.rollouts.judged import kind_of

from .test_judgement import found

PROBLEM = "WIT2194"
Write = Callable[[Path, list[tuple[str, float | None]]], Path]


def said(text: str) -> list[dict[str, str]]:
    return [
        {"role": "assistant", "content": "print(3 * 4)"}, {"role": "tool", "content": text},
        {"role": "assistant", "content": "" if "timed out" in text else "the answer is 12"},
    ]  # fmt: skip


def verl(folder: Path, rows: list[tuple[str, float | None]]) -> Path:
    folder.mkdir()
    lines = [
        {
            "input": f"q{at // 4}",
            "output": f"try {at} <tool_response>{text}</tool_response> so",
            "score": reward,
            "step": 1,
        }
        for at, (text, reward) in enumerate(rows)
    ]
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


def trinity(folder: Path, rows: list[tuple[str, float | None]]) -> Path:
    folder.mkdir()
    lines = [
        {"eid": {"batch": 1, "task": at // 4, "run": at % 4}, "messages": said(text), "reward": reward, "info": {}}
        for at, (text, reward) in enumerate(rows)
    ]
    (folder / "explorer_output.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


def trl(folder: Path, rows: list[tuple[str, float | None]]) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder.mkdir()
    table = {
        "step": [1] * len(rows), "prompt": [f"q{at // 4}" for at in range(len(rows))],
        "completion": [said(text) for text, _ in rows], "correct": [reward for _, reward in rows],
    }  # fmt: skip
    parquet.write_table(arrow.table(table), folder / "completions_00001.parquet")
    return folder


def episodes(lost: int, count: int = 80, default: float | None = 0.0) -> list[tuple[str, float | None]]:
    rows: list[tuple[str, float | None]] = [("execution timed out after 30 s", default)] * lost
    return rows + [("12", float(at % 3 == 0)) for at in range(count - lost)]


@pytest.mark.parametrize("write", [verl, trinity, trl])
@pytest.mark.parametrize(("lost", "severity"), [(8, WARNING), (24, ERROR)])
def test_time_outs_that_count_as_nought_are_told(write: Write, lost: int, severity: object, tmp_path: Path) -> None:
    finding = found(write(tmp_path / "rollouts", episodes(lost)))[PROBLEM]
    words = finding.words("en")
    assert finding.severity is severity
    assert words.headline == f"{lost / 80:.0%} of 80 episodes failed because of the environment: sandbox {lost}"
    assert words.explanation.startswith(f"{lost} of them still have a reward")


@pytest.mark.parametrize("write", [verl, trinity, trl])
@pytest.mark.parametrize("lost", [0, 2, 4])
def test_a_few_failures_are_no_finding(write: Write, lost: int, tmp_path: Path) -> None:
    assert PROBLEM not in found(write(tmp_path / "rollouts", episodes(lost)))


def test_a_default_reward_that_beats_a_try(tmp_path: Path) -> None:
    finding = found(verl(tmp_path / "rollouts", episodes(6, default=0.9)))[PROBLEM]
    assert finding.words("en").headline.startswith("8% of 80 episodes failed")


def test_a_framework_that_tells_the_error_in_a_column(tmp_path: Path) -> None:
    rows = [
        {
            "input": "q",
            "output": f"answer {at}",
            "score": 0.0,
            "step": 1,
            "error": "SandboxError: sandbox died" if at < 9 else "",
        }
        for at in range(40)
    ]
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts" / "1.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert "sandbox 9" in found(tmp_path / "rollouts")[PROBLEM].words("en").headline


def results(folder: Path, ended: list[tuple[str | None, int, float | None]], **more: object) -> Path:
    """What a harness keeps of its episodes: no answers, but how each ended and how often the policy acted."""
    folder.mkdir()
    rows = [
        {"task_id": f"t{at % 5}", "reward": reward, "error": error, "n_tool_calls": calls, **more}
        for at, (error, calls, reward) in enumerate(ended)
    ]
    (folder / "results.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return folder


TRIED: list[tuple[str | None, int, float | None]] = [(None, 12, float(at % 3 == 0)) for at in range(40)]


def test_graded_episodes_without_one_action_are_told_by_their_counts(tmp_path: Path) -> None:
    idle: list[tuple[str | None, int, float | None]] = [("gave up", 0, 0.0)] * 5
    finding = found(results(tmp_path / "runs", TRIED + idle))[PROBLEM]
    assert "11% of 45 graded episodes have no action" in finding.words("en").headline


def test_graded_episodes_whose_sandbox_failed_are_told_by_the_harness_word(tmp_path: Path) -> None:
    lost: list[tuple[str | None, int, float | None]] = [("failed to create sandbox", 3, 0.0)] * 20
    finding = found(results(tmp_path / "runs", TRIED + lost))[PROBLEM]
    assert finding.severity is ERROR
    assert "33% of 60 episodes failed because of the environment: sandbox 20" in finding.words("en").headline


def test_episodes_that_a_harness_leaves_out_or_that_are_well_are_no_fault(tmp_path: Path) -> None:
    assert PROBLEM not in found(results(tmp_path / "well", TRIED))
    masked: list[tuple[str | None, int, float | None]] = [("gave up", 0, 0.0)] * 5
    assert PROBLEM not in found(results(tmp_path / "masked", masked * 9, mask_sample=True))


def test_rows_of_a_public_thread_are_told_where_their_file_has_its_name(tmp_path: Path) -> None:
    log = Path(__file__).parents[1] / "witness" / "threads" / "benchflow-no-action-graded" / "log.txt"
    (tmp_path / "results.jsonl").write_bytes(log.read_bytes())
    assert "6% of 180 episodes failed" in found(tmp_path)[PROBLEM].words("en").headline


def test_a_table_of_other_things_is_no_table_of_episodes(tmp_path: Path) -> None:
    rows = [{"task_id": "a", "reward": "gold", "status": "ok"}, {"step": 1, "reward": 0.5, "status": "ok"}]
    for at, row in enumerate(rows):
        path = tmp_path / f"table{at}.jsonl"
        path.write_text(json.dumps(row) + "\n")
        assert kind_of(path) == ""
