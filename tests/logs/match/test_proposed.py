"""Patterns that `doctor dev new --signature` proposes, tried on the lines of all samples of the catalogue."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from doctor.catalogue.signature import Signature
from doctor.logs.lines.prefixes import strip
from doctor.logs.match.lint import lint
from doctor.logs.match.proposed import NothingToPropose, pattern_of, propose
from tests.commands import run_doctor

SIGNATURES = Path(__file__).parents[2] / "signatures"
LOG = """INFO step 3
Traceback (most recent call last):
  File "/home/somebody/train.py", line 20, in <module>
    trainer.train()
  File "/opt/venv/lib/python3.11/site-packages/frobnicate/core/engine.py", line 212, in _widen
    raise ValueError(f"widget '{name}' of 12 shards cannot be widened")
ValueError: widget 'q_proj' of 12 shards cannot be widened
"""


def _failed_lines() -> list[str]:
    """One line of each sample that begins like an exception."""
    found = []
    for path in sorted(SIGNATURES.rglob("hit-*.log")):
        lines = (strip(each).text.strip() for each in path.read_text(errors="replace").splitlines())
        found += [next((each for each in lines if re.match(r"(?:\w+\.)*[A-Z]\w+(?:Error|Exception): \S", each)), "")]
    return [each for each in found if each]


def test_a_proposed_pattern_finds_its_line_and_the_same_with_other_figures() -> None:
    lines = _failed_lines()
    assert len(lines) > 1000
    dice, faults = random.Random(20261123), []  # noqa: S311 - no secret
    for line in lines:
        pattern = pattern_of(line)
        other = re.sub(r"(?<![A-Za-z_.\d])\d+(?![\w.])", lambda _: str(dice.randint(0, 10**6)), line)
        if not (re.search(pattern, line) and re.search(pattern, other)):
            faults.append((line, pattern))
    assert not faults, faults[:3]


def test_most_proposals_have_no_fault() -> None:
    """Where the words are too few, nothing is proposed; that is seldom."""
    lines = _failed_lines()
    clean = sum(not lint(Signature(pattern_of(each))) for each in lines)
    assert clean / len(lines) > 0.97


def test_frame_groups_and_sample_come_with_it(tmp_path: Path) -> None:
    log = tmp_path / "died.log"
    log.write_text(LOG + "token hf_abcdefghijklmnopqrstuvwxyzABCDEF12\n")
    made = propose(log, 7)
    assert (
        made.pattern
        == r"^(?:[\w.]{1,80}\.)?ValueError: widget '(?P<name>[^'\s]{1,120})' of \d{1,18} shards cannot be widened"
    )
    assert made.frame == r"(?:^|[\\/])frobnicate[\\/]core[\\/]engine\.py:_widen$"
    assert made.groups == {"name": "q_proj"}
    assert "abcdefghij" not in made.sample


@pytest.mark.parametrize("text", ["", "\n\n", "12 34\n"])
def test_where_no_words_stay_nothing_is_proposed(text: str, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(text)
    with pytest.raises(NothingToPropose):
        propose(log, None)


def test_a_problem_made_of_a_log_finds_that_log_once_its_words_are_written(tmp_path: Path) -> None:
    for folder in ("checks/vllm", "tests/checks"):
        (tmp_path / folder).mkdir(parents=True)
    log = tmp_path / "died.log"
    log.write_text(LOG)
    done = run_doctor(
        "dev", "new", "vllm", "widget-too-wide", "--signature", str(log), "--root", str(tmp_path), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    from doctor.catalogue.index import load
    from doctor.cli.dev_lint import faults_of
    from doctor.logs.postmortem import examine, prepare

    (entry,) = load({"house": tmp_path / "checks"})
    unfilled = list(faults_of(entry, {entry.id}))
    assert unfilled
    assert all("not filled in" in each or "public source" in each for each in unfilled), unfilled
    sample = tmp_path / "tests" / "signatures" / entry.id / "hit-1.log"
    (first, *_) = examine([str(sample)], prepared=prepare([entry])).diagnosis.outcome.findings
    assert first.problem.id == entry.id
    refused = run_doctor("dev", "new", "vllm", "w-w", "--signature", str(log), "--check", cwd=tmp_path)
    assert refused.returncode == 2
