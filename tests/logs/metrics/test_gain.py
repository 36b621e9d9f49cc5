"""What shows that a run learnt: a reward that rose, or held-out figures that became better, beyond their noise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from doctor.diagnosis.report import as_dict
from doctor.logs.metrics.gain import missing, rise
from doctor.logs.metrics.timeline import Series
from doctor.logs.postmortem import examine
from doctor.render.words import WORDS, level_of, verdict_of
from tests.prepared import prepared_once


def _series(**courses: list[float]) -> dict[str, Series]:
    made = {name.replace("__", "/"): Series(name.replace("__", "/")) for name in courses}
    for name, values in courses.items():
        for step, value in enumerate(values, 1):
            made[name.replace("__", "/")].add(step, value)
    return made


@pytest.mark.parametrize(
    ("courses", "told"),
    [
        ({"loss": [3.0, 2.0, 1.0, 0.5, 0.2]}, "unshown"),
        ({"reward": [0.1, 0.2, 0.3, 0.4, 0.5]}, ""),
        ({"reward": [0.5, 0.4, 0.3, 0.2, 0.1]}, "unrisen"),
        ({"reward": [0.3, 0.5, 0.2, 0.5, 0.3, 0.4, 0.2, 0.5, 0.4]}, "unrisen"),
        ({"reward": [1.0, 1.0, 0.9, 1.0, 1.0, 1.0]}, ""),
        ({"reward": [0.0] * 6}, "unrisen"),
        ({"reward": [0.5] * 6}, "unrisen"),
        ({"reward": [0.5] * 6, "eval_accuracy": [0.1, 0.3, 0.5]}, ""),
        ({"eval_loss": [6.4, 5.9, 5.0, 3.7]}, ""),
        ({"eval_loss": [6.4, 3.7]}, "unshown"),
        ({"eval_loss": [3.7, 5.0, 5.9, 6.4]}, "unimproved"),
        ({"eval_runtime": [3.7, 5.0, 5.9, 6.4]}, "unshown"),
        ({"val-core__gsm8k__acc__mean@1": [0.2, 0.3, 0.4]}, ""),
        ({"rewards/margins": [0.1, 0.2, 0.3, 0.4, 0.5]}, "unshown"),
        ({}, "unshown"),
    ],
)
def test_what_shows_that_a_run_learnt(courses: dict[str, list[float]], told: str) -> None:
    assert missing(_series(**courses)) == told


def test_chance_is_seldom_taken_for_a_rise() -> None:
    chance = random.Random(1)  # noqa: S311 - the same values every time
    rises = sum(rise([chance.gauss(0.5, 0.1) for _ in range(30)]) > 2.5 for _ in range(1000))
    assert rises < 30
    rises = sum(rise([chance.gauss(0.5 + 0.01 * step, 0.1) for step in range(30)]) > 2.5 for _ in range(1000))
    assert rises > 800


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("key", ["unrisen", "unimproved", "unshown"])
def test_a_run_without_a_sign_is_not_called_healthy(tmp_path: Path, language: str, key: str) -> None:
    rows = ""
    for each in range(6):
        reward = f"'reward': 0.{4 + each % 2}, " if key == "unrisen" else ""
        rows += f"{{'loss': 0.{9 - each}, {reward}'epoch': {each}}}\n"
        rows += f"{{'eval_loss': {each}.0, 'epoch': {each}}}\n" if key == "unimproved" else ""
    path = tmp_path / "train.log"
    path.write_text(f"{rows}{{'train_runtime': 12.5, 'train_loss': 0.5}}\n")
    report = as_dict(examine([str(path)], prepared=prepared_once()).diagnosis)
    assert report["judged"]["not_seen"][0] == key
    assert verdict_of(report, WORDS[language]) == WORDS[language][f"verdict_{key}"]
    level = "good" if key == "unshown" else "warning"  # most trainings print no score; one that got no better alarms
    assert (report["verdict"], report["findings"], level_of(report)) == ("unknown", [], level)
