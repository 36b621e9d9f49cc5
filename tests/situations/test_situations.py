"""The situations that the mission names: each stays answered as its row says, by the same engine that users run.

A row of ``*.yaml`` has `before` (the verdict of the trial) and one of
  log: text of a log, or logs: path -> text of several, with `context` (text of a report) beside it, `says`: id of the
    first finding, `words` and `never`, `beside`: id of another one;
  problem: an id, with `facts`, `command`, `files`, `unavailable` as in tests/checks, and `says`, `words`, `never`, or
    `silent: true`;
  plan: arguments of `doctor plan` -> words that its page has;
  gpus: rows of an nvidia-smi CSV without an index, and how many GPUs must be told apart;
  held_by: a case of tests/checks or tests/rules, a sample of tests/signatures, or a test, that holds it already, or
    several; `asserts`: of tests, what they assert of the answer, as it stands there;
  open: why it is not answered yet.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from doctor.catalogue import index
from doctor.cli.app import run as run_command
from tests.case_files import read_cases
from tests.checks.cases import compare as compare_check
from tests.checks.cases import run_case as run_check
from tests.rules.series_cases import compare as compare_rule
from tests.rules.series_cases import run_case as run_rule

HERE = Path(__file__).parent
TESTS = HERE.parent
ENTRIES = {entry.id: entry for entry in index.load()}
ROWS = {(path.stem, name): row for path in sorted(HERE.glob("*.yaml")) for name, row in read_cases(path).items()}
KINDS = ("log", "logs", "problem", "plan", "gpus", "held_by", "open")


@cache
def _prepared() -> Any:
    from doctor.logs.postmortem import prepare

    return prepare()


def _params(*kinds: str) -> list[Any]:
    return [
        pytest.param(row, id=f"{document}-{name}")
        for (document, name), row in ROWS.items()
        if any(kind in row for kind in kinds)
    ]


def _compare(row: Mapping[str, Any], finding: Any) -> None:
    for language in ("en", "zh"):
        finding.words(language)
    said = " ".join((*_texts(finding), *finding.commands))
    for words in row.get("words", ()):
        assert words in said, said
    for words in row.get("never", ()):
        assert words not in said, said
    if "confidence" in row:
        assert finding.confidence.value == row["confidence"]


def _texts(finding: Any) -> tuple[str, ...]:
    words = finding.words()
    return words.headline, words.explanation, words.remedy


@pytest.mark.parametrize("row", _params("log", "logs"))
def test_log(row: dict[str, Any], tmp_path: Path) -> None:
    from doctor.logs.postmortem import examine

    path = tmp_path / "logs"
    for name, text in row.get("logs", {"run.log": row.get("log", "")}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    given = [tmp_path / "report.txt"] if "context" in row else []
    for report in given:
        report.write_text(row["context"])
    examined = examine([str(path)], context=given, prepared=_prepared())
    findings, told = examined.ranked.findings, examined.diagnosis.outcome.findings
    assert findings, "nothing was found"
    first = findings[0]
    assert first.problem.id == row["says"], [each.problem.id for each in findings]
    _compare(row, first)
    if "beside" in row:
        assert row["beside"] in [each.problem.id for each in told]


@pytest.mark.parametrize("row", _params("problem"))
def test_before_launch(row: dict[str, Any], tmp_path: Path) -> None:
    case = {key: row[key] for key in ("command", "files", "facts", "unavailable", "environ") if key in row}
    outcome = run_check(ENTRIES[row["problem"]], case, tmp_path)
    assert not outcome.crashed, outcome.crashed[0].traceback
    if row.get("silent"):
        assert not outcome.findings, [each.words().headline for each in outcome.findings]
        return
    assert outcome.findings, outcome.skipped
    _compare(row, outcome.findings[0])


@pytest.mark.parametrize("row", _params("plan"))
def test_plan(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for words, expected in row["plan"].items():
        code = run_command(["plan", *words.split()])
        page = capsys.readouterr().out
        assert code in (0, 1)
        for each in expected:
            assert each in page or each in " ".join(page.split()), page  # lines break at the width of the terminal


@pytest.mark.parametrize("row", _params("gpus"))
def test_csv_without_an_index(row: dict[str, Any], tmp_path: Path) -> None:
    from doctor.monitors.usage.foreign_csv import read

    given = row["gpus"]
    start, lines = datetime(2025, 5, 10, 12), ["timestamp, name, utilization.gpu [%], utilization.memory [%]"]  # noqa: DTZ001
    for number in range(given.get("rounds", 200)):
        for gpu in range(given["count"]):
            at = start + timedelta(milliseconds=number * given["period_ms"] + gpu * given["apart_ms"])
            busy = 95 if number % 2 == gpu % 2 else 0
            lines.append(f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d}, NVIDIA A100, {busy} %, 10 %")
    path = tmp_path / "gpu.csv"
    path.write_text("\n".join(lines) + "\n")
    usage = read(path)
    assert [key.index for key in usage.gpus] == list(range(given["count"]))
    assert bool(given["count"] > 1) == any("no column `index`" in note for note in usage.notes)
    for tracks in usage.gpus.values():
        values = tracks["gpu_busy_pct"].v
        assert 40 < fmean(values) < 55


def _held_by(row: Mapping[str, Any]) -> list[str]:
    held = row["held_by"]
    return [held] if isinstance(held, str) else held


@pytest.mark.parametrize("row", _params("held_by"))
def test_held_by(row: dict[str, Any], tmp_path: Path) -> None:
    tests = []
    for each in _held_by(row):
        kind, _, place = each.partition(" ")
        if kind == "check":
            problem, _, name = place.rpartition("/")
            case = read_cases(TESTS / "checks" / f"{problem}.yaml")[name]
            outcome = run_check(ENTRIES[problem], case, tmp_path)
            compare_check(case, outcome, tmp_path)
            assert all(each.problem.id == ENTRIES[problem].id for each in outcome.findings)
            assert not any(each.keys() <= {"severity", "confidence"} for each in case.get("found", ())), "no words"
        elif kind == "rule":
            problem, _, name = place.rpartition("/")
            case = read_cases(TESTS / "rules" / f"{problem}.yaml")[name]
            compare_rule(case, run_rule(ENTRIES[problem], case))
        elif kind == "sample":
            from doctor.logs.postmortem import examine

            problem = place.rpartition("/")[0]
            findings = examine([str(TESTS / "signatures" / place)], prepared=_prepared()).ranked.findings
            assert findings[0].problem.id == problem
        else:
            assert kind == "test"
            tests.append(place)
    assert bool(tests) == ("asserts" in row)
    asserted = " ".join(_asserted(each) for each in tests)
    for words in row.get("asserts", ()):
        assert _plain(words) in asserted, words


def _asserted(place: str) -> str:
    """What a test asserts, and the cases that it is given: whoever empties it loses the row."""
    file, _, name = place.partition("::")
    text = (TESTS / file).read_text()
    (test,) = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef) and each.name == name)
    called = (each for each in ast.walk(test) if isinstance(each, ast.Assert))
    return " ".join(_plain(ast.get_source_segment(text, each) or "") for each in (*test.decorator_list, *called))


def _plain(text: str) -> str:
    return " ".join(text.split())


def test_every_situation_is_here_and_says_how_it_is_held() -> None:
    assert len(ROWS) == 153
    for (document, name), row in ROWS.items():
        assert sum(kind in row for kind in KINDS) == 1, (document, name)
        assert row["before"] in ("works", "partly", "missing", "wrong"), (document, name)
    before = Counter(row["before"] for row in ROWS.values())
    assert before == {"works": 102, "partly": 23, "missing": 15, "wrong": 13}


@pytest.mark.parametrize("row", _params("open"))
def test_open(row: dict[str, Any]) -> None:
    pytest.skip(row["open"])
