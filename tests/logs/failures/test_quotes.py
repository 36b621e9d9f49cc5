"""Runs that print the failures of others: programs that a model wrote, tools that it called, its own completions."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Postmortem, examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
HEALTHY = Path(__file__).parents[2] / "healthy"
LOGS = {
    "verl-code-rewards.log": "(TaskRunner pid=221183) ",
    "trl-tools-that-fail.log": "",
    "openrlhf-math-verifier.log": "(PPOTrainer pid=4711) ",
}
UNKNOWN = """Traceback (most recent call last):
  File "/home/user/project/train.py", line 88, in <module>
    trainer.fit()
  File "/home/user/project/trainer.py", line 231, in fit
    self.regroup(batch)
ValueError: not enough values to unpack (expected 2, got 1)
"""
MEMORY = """Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/torch/_tensor.py", line 581, in backward
    torch.autograd.backward(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.25 GiB. GPU 3 has a total capacity of 79.10 GiB of \
which 2.12 GiB is free.
"""


def _examine(tmp_path: Path, name: str, end: str, *, steps: int) -> Postmortem:
    """A log without its last steps and its good end, and with another end."""
    lines = (HEALTHY / name).read_text().splitlines(keepends=True)
    bars = [number for number, line in enumerate(lines) if "s/it]" in line]
    kept = lines[: bars[-steps] + 1 - (steps > 1)]
    ending = [f"{LOGS[name]}{line}\n" for line in end.splitlines()]
    path = tmp_path / "train.log"
    path.write_text("".join([*kept, *ending]))
    return examine([str(path)], prepared=PREPARED)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_what_programs_print_is_never_confirmed_of_a_run_that_goes_on(tmp_path: Path, name: str, steps: int) -> None:
    found = _examine(tmp_path, name, "", steps=steps).diagnosis.outcome.findings
    assert [each.problem.id for each in found if each.confidence.value == "confirmed"] == []


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(("end", "told"), [(UNKNOWN, "UNK001"), (MEMORY, "MEM6839/training_step")])
def test_the_failure_that_ends_the_run_is_told_from_those(tmp_path: Path, name: str, end: str, told: str) -> None:
    result = _examine(tmp_path, name, end, steps=2)
    first = result.diagnosis.outcome.findings[0]
    assert first.problem.id == told
    assert (first.where.line or 0) > result.case.lines - len(end.splitlines())


def _log(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "train.log"
    path.write_text(text)
    return [each.problem.id for each in examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings]


SAMPLE = """[prompt] Which command installs it?
[response] I tried it, and
ERROR: No matching distribution found for sklearn2
so I took another.
[ground_truth] pip
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{SAMPLE}[score] 1.0\n", ["UNK003"]),
        (SAMPLE, ["PYT028"]),  # never closed: what stands behind a mark is not known to be a sample
        ("['user\\nhello\\nassistant\\nERROR: No matching distribution found for sklearn2', 0.5]\n", ["UNK003"]),
        ("<think>ERROR: No matching distribution found for a\n</think>\n", ["UNK003"]),
        ("</think>ERROR: No matching distribution found for a\n<think>\n", ["PYT028"]),
    ],
)
def test_a_sample_is_what_stands_between_its_marks(tmp_path: Path, text: str, told: list[str]) -> None:
    assert _log(tmp_path, text) == told


@pytest.mark.parametrize("path", ["/home/user/run.py", "/tmp/ray/session_1/run.py", "/tmp/ipykernel_7/run.py"])
def test_a_script_that_was_started_again_and_again_fails_by_itself(tmp_path: Path, path: str) -> None:
    kinds = ("ValueError: one", "KeyError: 'two'", "AttributeError: Can't pickle local object 'main.<locals>.loader'")
    frame = f'Traceback (most recent call last):\n  File "{path}", line 1, in <module>\n    main()\n'
    assert "PYT026" in _log(tmp_path, "".join(f"{frame}{each}\n\n" for each in kinds))


@pytest.mark.parametrize(
    ("after", "confidence"),
    [
        ("", "confirmed"),
        (" 40%|████      | 4/10 [00:02<00:03,  1.98it/s]\n", "likely"),  # the run went on
        (UNKNOWN, "likely"),  # the failure says something else
    ],
)
def test_a_mere_line_proves_nothing_of_what_comes_after_it(tmp_path: Path, after: str, confidence: str) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"train.sh: line 3: torchrun: command not found\n{after}")
    first = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.confidence.value) == ("LCH002", confidence)


@pytest.mark.parametrize(
    ("path", "confidence"),
    [
        ("/home/user/project/reward.py", "likely"),
        ("/home/user/venv/lib/python3.11/site-packages/trl/x.py", "confirmed"),
    ],
)
def test_the_words_of_a_library_prove_nothing_where_the_user_raises_them(
    tmp_path: Path, path: str, confidence: str
) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{path}", line 9, in score\n    raise ValueError("no parameters")\n'
        "ValueError: loaded state dict has a different number of parameter groups\n"
    )
    first = examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.confidence.value) == ("CKP7555/optimizer", confidence)


@pytest.mark.parametrize("name", LOGS)
def test_what_programs_print_before_the_first_step_is_not_confirmed(tmp_path: Path, name: str) -> None:
    lines = (HEALTHY / name).read_text().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if "s/it]" in line)
    path = tmp_path / "train.log"
    for end in range(max(1, first // 4), first, max(1, first // 4)):
        path.write_text("".join(lines[:end]))
        found = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings
        assert [each.problem.id for each in found if each.confidence.value == "confirmed"] == [], end


@pytest.mark.parametrize(
    ("process", "path", "confidence"),
    [
        ("(RewardLoopWorker pid=5) ", "", "likely"),  # a bare line of somebody who runs programs
        ("(WorkerDict pid=5) ", "", "confirmed"),
        ("(TaskRunner pid=5) ", "/tmp/tmp399253/main.py", "likely"),
        ("(RewardLoopWorker pid=5) ", "/home/user/project/main.py", "confirmed"),
    ],
)
def test_words_without_a_place_that_lasts_prove_nothing(
    tmp_path: Path, process: str, path: str, confidence: str
) -> None:
    frame = f'Traceback (most recent call last):\n  File "{path}", line 6, in <module>\n    start()\n' if path else ""
    text = f"{frame}ValueError: loaded state dict has a different number of parameter groups\n"
    log = tmp_path / "train.log"
    log.write_text("".join(f"{process}{line}\n" for line in text.splitlines()))
    first = examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.confidence.value) == ("CKP7555/optimizer", confidence)
