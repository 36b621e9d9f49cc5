"""What the check said before a launch, in the report on how the run ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.usage.warned import warned

FOUND = {
    "id": "DAT3073/order_of_completion", "name": "code-means-otherwise", "severity": "warning", "headline": "`f` mixes",
    "where": {"file": "/home/u/project/judge.py", "line": 62}, "explanation": "why",
}  # fmt: skip


def kept(folder: Path, *findings: Any) -> Path:
    (folder / "check.json").write_text(json.dumps({"schema": "doctor/1", "findings": findings}))
    return folder


def report(verdict: str = "unknown", *ids: str) -> dict[str, Any]:
    return {"verdict": verdict, "findings": [{"id": each} for each in ids]}


def test_errors_and_warnings_are_repeated_with_their_places(tmp_path: Path) -> None:
    note = {**FOUND, "id": "TRL001", "severity": "info"}
    elsewhere = {**FOUND, "id": "HST001", "severity": "error", "where": {"file": "/etc/hosts"}}
    told = warned(kept(tmp_path, FOUND, note, elsewhere), report(), "/home/u/project")
    assert [(each["id"], each["where"]) for each in told] == [
        ("DAT3073/order_of_completion", {"file": "judge.py", "line": 62}), ("HST001", {"file": "/etc/hosts"}),
    ]  # fmt: skip
    assert set(told[0]) == {"id", "name", "severity", "headline", "where"}


def test_nothing_is_said_of_a_healthy_run_or_said_twice(tmp_path: Path) -> None:
    kept(tmp_path, FOUND)
    assert warned(tmp_path, report("healthy"), None) == []
    assert warned(tmp_path, report("known", FOUND["id"]), None) == []
    assert len(warned(tmp_path, report("known", "NCC011"), None)) == 1


def test_a_secret_in_a_kept_report_is_taken_out(tmp_path: Path) -> None:
    secret = "hf_" + "a1B2c3D4" * 4
    told = warned(kept(tmp_path, {**FOUND, "headline": f"token={secret}"}), report(), None)
    assert secret not in json.dumps(told)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"findings": 1}',
        '{"findings": [1, null, {}]}',
        '{"findings": [{"id": "A"}]}',
        "\0",
    ],
)
def test_a_damaged_report_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "check.json").write_text(text)
    assert warned(tmp_path, report(), None) == []


def test_a_folder_without_a_check_says_nothing(tmp_path: Path) -> None:
    assert warned(tmp_path, report(), None) == []
