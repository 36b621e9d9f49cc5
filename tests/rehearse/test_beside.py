"""What the check says of a command stands in the report of its rehearsal, each finding once."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.base.fact import Context
from doctor.base.record import replace
from doctor.catalogue.finding import Finding, Where, found
from doctor.checks.host import shm_too_small
from doctor.checks.numerics import trains_other_than_asked
from doctor.checks.peft import adapter_twice
from doctor.checks.rl import weights_do_not_follow_the_rate
from doctor.diagnosis.schema import REPORT
from doctor.rehearse import beside
from doctor.rehearse.beside import CHECK, PAST, REHEARSAL, Checked, Checking, check, together
from doctor.rehearse.judge import judged
from doctor.rehearse.report import report
from doctor.render.html import render as page
from doctor.render.markdown import render as markdown
from doctor.render.words import WORDS
from tests.rehearse.test_judge import WHOLE, entry, session

MASKED = found(
    trains_other_than_asked.PROBLEM, trains_other_than_asked.MASKED, tokens=8, where=Where(file="train.py", line=3)
)
NOTHING = found(trains_other_than_asked.PROBLEM, trains_other_than_asked.NOTHING, count=8)
STILL = weights_do_not_follow_the_rate.of_rehearsal([], 3, [1e-5], 2, count=0)


def told(finding: Finding | None) -> Finding:
    assert finding is not None
    return finding


def test_what_both_found_stands_once_and_says_so() -> None:
    merged = together([NOTHING], [MASKED, told(STILL)])
    assert [(each.problem.id, each.detectors) for each in merged] == [
        ("NUM5191", (CHECK, REHEARSAL)), ("RLX4202", (CHECK,)),
    ]  # fmt: skip
    assert merged[0].message is NOTHING.message, "what was seen to happen, not what was read"
    assert [each.detectors for each in together([NOTHING], [])] == [(REHEARSAL,)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_form_of_the_report_says_who_found_it(tmp_path: Path, language: str) -> None:
    done = replace(session(tmp_path), checked=Checked((MASKED,)))
    diagnosis = judged(done, language=language)
    report_of = report(done, diagnosis, language)
    jsonschema.validate(json.loads(json.dumps(report_of)), REPORT)
    assert [each["detectors"] for each in report_of["findings"]] == [["check"]]
    words = WORDS[language]["by_check"]
    assert words in markdown(report_of, language)
    assert words.split("`")[0] in page(report_of, language)


def test_of_a_framework_only_the_configuration_is_told(tmp_path: Path) -> None:
    done = replace(session(tmp_path, (entry("parts", 0),)), checked=Checked((MASKED,)))
    assert "NUM5191" not in {each.problem.id for each in judged(done).outcome.findings}


def test_a_check_that_fails_costs_only_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(_: Context) -> Any:
        msg = "of ours"
        raise ValueError(msg)

    monkeypatch.setattr(beside, "check", fails)
    checked = Checking(["python", "train.py"]).result()
    assert [each.id for each in checked.crashed] == ["check"]
    outcome = judged(replace(session(tmp_path), checked=checked)).outcome
    assert (outcome.findings, len(outcome.crashed)) == ((), 1)


def test_a_check_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not judged is not silently right."""
    free = threading.Event()
    monkeypatch.setattr(beside, "check", lambda _: (free.wait(30), Checked())[1])
    monkeypatch.setattr(beside, "_PATIENCE_S", 0.05)
    checking = Checking(["python", "train.py"])
    checked = checking.result()
    free.set()
    assert [each.error for each in checked.crashed] == ["TimeoutError: no answer within 0.05 s"]


@pytest.mark.process
def test_the_check_reads_the_script_and_leaves_the_machine_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "from transformers import AutoModelForCausalLM\n"
        "model = AutoModelForCausalLM.from_pretrained('m')\n"
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\n"
        "for batch in load():\n"
        "    loss = model(**batch).loss\n"
        "    loss.backward()\n"
        "    optimizer.zero_grad()\n"
        "    optimizer.step()\n"
    )
    monkeypatch.chdir(tmp_path)
    done = check(Context(("python", "train.py"), tmp_path, {}, None, False, framework=False))
    assert done.script is not None
    assert all(each.problem.area != shm_too_small.PROBLEM.area for each in done.findings)
    assert {each.where.file for each in done.findings if each.where.line == 8} == {str(script)}


TWICE = found(adapter_twice.PROBLEM, adapter_twice.LOG_MESSAGE)


def test_an_error_that_a_rehearsal_went_past_is_none(tmp_path: Path) -> None:
    past = replace(session(tmp_path), checked=Checked((TWICE, MASKED)))
    outcome = judged(past).outcome
    assert [each.problem.id for each in outcome.findings] == ["NUM5191"], "a warning is not disproved by an end"
    assert [(each.id, each.reason) for each in outcome.skipped] == [("PFT008", PAST)]
    without = (*WHOLE, entry("left_out", 1, name="engine", why="no_engine", values={}))
    for other in (session(tmp_path, code=1), session(tmp_path, WHOLE[:5]), session(tmp_path, without)):
        told = judged(replace(other, checked=Checked((TWICE,)))).outcome
        assert "PFT008" in [each.problem.id for each in told.findings], "it may be what ends the run"
