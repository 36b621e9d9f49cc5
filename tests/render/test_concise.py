"""One line a finding, the areas, and the errors once more at the end."""

from __future__ import annotations

import io
from typing import Any

import pytest

from doctor.render import concise
from doctor.render.console import console_for, draw
from doctor.render.words import WORDS, areas_of, blind_of


def finding(name: str, severity: str = "error", **where: Any) -> dict[str, Any]:
    return {
        "id": name, "name": "x", "severity": severity, "confidence": "confirmed", "role": "cause",
        "headline": f"`{name}` is wrong", "explanation": "e", "remedy": {"text": "t", "commands": [], "fix": None},
        "where": where, "evidence": [], "links": [], "affects": {},
    }  # fmt: skip


def report(*findings: dict[str, Any]) -> dict[str, Any]:
    areas = {"vllm": {"checked": 23, "not_judged": 2}, "trl": {"checked": 1, "not_judged": 0}}
    return {
        "command": "check", "target": {"summary": [], "argv": [], "files": []}, "findings": list(findings),
        "skipped": [{"id": "VLL001", "reason": "no GPU"}, {"id": "VLL002", "reason": "no GPU"}], "crashed": [],
        "summary": {"errors": len(findings), "warnings": 0, "checks_run": 24, "seconds": 0.1, "areas": areas},
    }  # fmt: skip


def test_one_line_a_finding() -> None:
    text = concise.render(
        report(finding("TRL001", file="t.py", line=3, column=5), finding("GPU001", "warning", gpu=2)), "en"
    )
    first, second, counts, blind = text.splitlines()
    assert first == "t.py:3:5: TRL001 error: `TRL001` is wrong"
    assert second == "gpu 2: GPU001 warning: `GPU001` is wrong"
    assert counts.startswith("errors: 1")
    assert blind == "not judged: 2"


def test_no_text_of_a_patient_makes_a_second_line() -> None:
    odd = finding("TRL001")
    odd["headline"] = "a\nb\x1b[31m\r::error::c"
    assert len(concise.render(report(odd), "en").splitlines()) == 3


def test_areas_say_what_was_done() -> None:
    assert areas_of(report(), WORDS["en"]) == "checked: vLLM 23/25 · TRL 1"
    assert "vLLM 23/25" in areas_of(report(), WORDS["zh"])
    assert areas_of({"summary": {}}, WORDS["en"]) == ""


def test_what_was_not_judged_is_one_line_with_its_two_reasons() -> None:
    reasons = ["no driver: `x` cannot be loaded (no GPU)"] * 3 + ["no driver: `y`"] + ["no model"] * 2 + ["a", "b"]
    given = {**report(), "skipped": [{"id": "VLL001", "reason": each} for each in reasons]}
    line = "not judged: 8 of 32 checks: no driver (4), no model (2), other reasons (2) · --verbose lists them"
    assert blind_of(given, WORDS["en"]) == line
    assert blind_of({**report(), "skipped": []}, WORDS["en"]) == ""
    assert "未判断" in blind_of(given, WORDS["zh"])


@pytest.mark.parametrize(("terminal", "count", "listed"), [(True, 4, True), (True, 1, False), (False, 4, False)])
def test_the_closing_list_is_for_terminals_and_long_reports(terminal: bool, count: int, listed: bool) -> None:
    stream = io.StringIO()
    draw(report(*(finding(f"TRL00{n}") for n in range(count))), console_for(stream, color=terminal))
    assert ("in the order in which they occur" in stream.getvalue()) is listed
