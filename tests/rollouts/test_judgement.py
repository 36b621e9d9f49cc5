"""What is said of rollouts: each problem by its id with numbers, steps and examples; nothing of healthy ones."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.artifacts import read
from doctor.logs.rollouts.sample import loop_of

from . import dumps as made

SAMPLES = Path(__file__).parent.parent / "samples" / "rollouts"


def flat(random: Random, step: int, attempt: int) -> tuple[str, float]:
    return made.good(random, step, attempt)[0], 1.0


def missing(random: Random, step: int, attempt: int) -> tuple[str, float]:
    return made.good(random, step, attempt)[0], math.nan


def sometimes_missing(random: Random, step: int, attempt: int) -> tuple[str, float]:
    text, reward = made.good(random, step, attempt)
    return text, math.nan if attempt == 3 and step > 4 else reward


def empty(random: Random, step: int, attempt: int) -> tuple[str, float]:
    text, reward = made.good(random, step, attempt)
    return ("\n" if step > 5 and attempt else text), reward


def looping(random: Random, step: int, attempt: int) -> tuple[str, float]:
    text, reward = made.good(random, step, attempt)
    token = "hf_" + "A1b2C3d4" * 4
    return (text + f" Wait, let me check once more with {token}." * 40 if step > 4 else text), reward


def identical(random: Random, step: int, attempt: int) -> tuple[str, float]:  # noqa: ARG001 - one shape for all
    return f"the answer to question {step} is {step}", float(random.random() < 0.5)


def found(path: Path) -> dict[str, Finding]:
    result = read([str(path)])
    assert not result.crashed
    for each in result.findings:
        each.words("zh")
    return {each.problem.id: each for each in result.findings}


@pytest.mark.parametrize(
    ("answer", "problem", "headline", "example"),
    [
        (flat, "RLX008", "`reward` is exactly 1 in 12 consecutive logged steps, since step 1", "16 answers, reward 1"),
        (missing, "RLX006", "`reward` is None or NaN from step 1 on", "no usable reward"),
        (sometimes_missing, "RLX006", "25 % of the answers have None or NaN as their reward since step 5", "no usable"),
        (empty, "RLX012", "75 % of the answers are empty, since step 6", "12 empty"),
        (looping, "RLX018", "100 % of the answers end by repeating one piece of text, since step 5", "let me check"),
        (identical, "RLX019", "the same text in 100 % of the groups, since step 1", "the same answer several times"),
    ],
)
def test_verl(tmp_path: Path, answer: made.Answer, problem: str, headline: str, example: str) -> None:
    finding = found(made.verl(tmp_path / "rollouts", answer))[problem]
    assert headline in finding.words().headline
    assert finding.where.file is not None
    assert finding.where.file.endswith(".jsonl")
    assert any(example in each.text for each in finding.evidence), finding.evidence
    assert "hf_A1b2" not in str(finding.evidence), "secrets are redacted"
    assert all(len(each.text) < 700 for each in finding.evidence)


def test_groups_of_trinity_are_told_by_task(tmp_path: Path) -> None:
    def by_step(random: Random, step: int, attempt: int) -> tuple[str, float]:
        return made.good(random, step, attempt)[0], step / 20  # differs from step to step, never within a group

    for path in (
        made.trinity_lines(tmp_path / "a" / "explorer_output.jsonl", by_step),
        made.trinity_database(tmp_path / "b" / "explorer_output.db", "0.6.0", by_step),
        made.trinity_database(tmp_path / "c" / "explorer_output.db", "0.4.0", by_step),
    ):
        finding = found(path)["RLX010"]
        assert "No group had different rewards in 12 consecutive logged steps since step 1" in finding.words().headline
        assert any("4 of 4 groups with one reward" in each.text for each in finding.evidence)


def test_truncated_answers_of_trinity(tmp_path: Path) -> None:
    path = tmp_path / "explorer_output.jsonl"
    made.trinity_lines(path, truncate_status="response_truncated")
    assert not found(path), "12 steps are too few for a share of truncated answers"
    made.STEPS, before = 25, made.STEPS
    try:
        made.trinity_lines(path, truncate_status="response_truncated")
    finally:
        made.STEPS = before
    path.write_text("".join(_renumbered(path.read_text(), times=2)))
    assert "100 % of the completions are cut off" in found(path)["RLX011"].words().headline


def _renumbered(text: str, times: int) -> list[str]:
    """The same rows again, as later steps."""
    import json

    out = []
    for turn in range(times):
        for line in text.splitlines():
            row = json.loads(line)
            row["eid"]["batch"] += turn * made.STEPS
            out.append(json.dumps(row) + "\n")
    return out


def test_reward_for_the_form_alone(tmp_path: Path) -> None:
    folder = made.trl(tmp_path, format_reward=lambda text: float(len(text) % 2), accuracy_reward=lambda _: 0.0)
    finding = found(folder)["RLX020"]
    assert "`format_reward` gives rewards and `accuracy_reward` is 0 in 12" in finding.words().headline


def test_greedy_run_of_trl() -> None:
    finding = found(SAMPLES / "trl-greedy")["RLX019"]
    assert finding.words().headline.startswith("All answers to one prompt are the same text")
    assert finding.where.step == 1


def test_nan_that_pandas_wrote_as_null(tmp_path: Path) -> None:
    finding = found(made.trl(tmp_path, some_function=lambda _: math.nan))["RLX006"]
    assert "`some_function` returns None or NaN" in finding.words().headline


def test_evaluations_may_be_greedy(tmp_path: Path) -> None:
    assert not found(made.verl(tmp_path / "val_generations", identical))
    assert "RLX019" in found(made.verl(tmp_path / "rollouts", identical))


@pytest.mark.parametrize("kind", ["verl", "trinity", "0.1.0", "0.3.0", "0.4.0", "0.6.0", "trl"])
def test_healthy_rollouts_say_nothing(tmp_path: Path, kind: str) -> None:
    if kind == "verl":
        made.verl(tmp_path, acc=0.5)
    elif kind == "trinity":
        made.trinity_lines(tmp_path / "explorer_output.jsonl")
    elif kind == "trl":
        made.trl(tmp_path, accuracy_reward=lambda text: float(len(text) % 2), format_reward=lambda _: 1.0)
    else:
        made.trinity_database(tmp_path / "explorer_output.db", kind)
    result = read([str(tmp_path)])
    assert not result.findings
    assert len(result.summary) == 1
    assert "192 answers of" in result.summary[0]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("Let me see. " + "So it is 7.\n" * 30, "So it is 7."),
        ("x" * 300, "x"),
        ("One step, two step. " + "and then again, " * 20 + "and th", "and then again"),
    ],
)
def test_loops(text: str, piece: str) -> None:
    loop = loop_of(text)
    assert loop is not None
    assert sorted(set(loop)) == sorted(set(piece)) or piece.strip() in loop * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the answer is 42",
        "Heading\n" + "-" * 120,
        "| a | b |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(60)),
        " ".join(str(n) for n in range(500)),
        "same start " * 20 + "but then it goes on to say something else entirely, and comes to an end: 42",
    ],
)
def test_no_loops(text: str) -> None:
    assert loop_of(text) is None
