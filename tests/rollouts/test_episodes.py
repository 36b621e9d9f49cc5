"""Episodes of agents in kept rollouts of every framework: failures of the environment that were graded are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.catalogue.problem import ERROR, WARNING

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
