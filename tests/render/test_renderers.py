"""Every renderer draws the same report; nothing in it is read as markup, and nothing secret is drawn."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Message, Where, Words, found
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.problem import ERROR, INFO, WARNING, Problem
from doctor.diagnosis.report import Diagnosis, Subject, as_dict, shortened
from doctor.diagnosis.schema import FACTS, REPORT
from doctor.facts.host import Host
from doctor.readers.saved import as_json
from doctor.render import github, html, markdown, sarif
from doctor.render.console import console_for, draw

HOSTILE = "[bold red]<script>alert(1)</script>[/]"
MESSAGE = Message(
    Words("`num_generations={n}` does not divide {text}", "It ends at once.", "Use 4 or 8."),
    Words("`num_generations={n}` 不能整除 {text}", "训练会立即退出。", "请改用 4 或 8。"),
)


def finding(severity: Any, **values: Any) -> Finding:
    names = {ERROR: "TRL901", WARNING: "TRL902", INFO: "TRL903"}
    return found(
        Problem(names[severity], "made-up-problem", severity, "0.1", {"trl": ">=0.15"}),
        MESSAGE,
        where=values.pop("where", Where(file="/run/train.py", line=33, column=9)),
        commands=("num_generations=8", "echo a very long command that must stay on one line " + "x" * 120),
        evidence=(Observed.quoted("/run/train.py", "num_generations=6, # hf_abcdefghijklmnopqrst", 33),),
        **{"n": 6, "text": HOSTILE, **values},
    )


@pytest.fixture
def report() -> dict[str, Any]:
    outcome = Outcome(
        (finding(ERROR), finding(WARNING, confidence=LIKELY), finding(INFO)),
        (Skipped("GPU004", "no NVIDIA driver"), Skipped("VLL001", "ignored: known", ignored=True)),
        (Crashed("HST001", "KeyError: 'x'", "Traceback ..."),),
        12,
        0.2,
    )
    target = Subject(
        "/home/alice/venv/bin/python", ("WANDB_API_KEY=abcdef", "accelerate", "launch"), (), None, ("python 3.11",)
    )
    return as_dict(Diagnosis("check", target, outcome, seconds=0.21))


def drawn(
    report: dict[str, Any], width: int = 80, language: str = "en", encoding: str = "utf-8", *, verbose: bool = False
) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = console_for(stream, color=False)
    console.width = width
    draw(report, console, language=language, verbose=verbose)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def test_report_keeps_its_published_schema(report: dict[str, Any]) -> None:
    jsonschema.validate(report, REPORT)
    jsonschema.validate(as_json({"host": Observed.seen(Host("a"))}), FACTS)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**report, "surprise": 1}, REPORT)


def test_nothing_secret_is_in_any_form(report: dict[str, Any]) -> None:
    forms = [json.dumps(report), drawn(report, verbose=True), markdown.render(report), html.render(report)]
    forms += [github.render(report), json.dumps(sarif.render(report))]
    for text in forms:
        assert "hf_abc" not in text
        assert "alice" not in text
        assert "abcdef" not in text


def test_terminal_text_is_pinned(report: dict[str, Any]) -> None:
    expected = (Path(__file__).parent / "expected" / "console.txt").read_text()
    assert drawn(shortened(report, Path("/run"))) == expected


def test_one_problem_on_several_cards_is_one_finding() -> None:
    cards = [finding(ERROR, n=each, where=Where(gpu=each)) for each in (0, 1, 2, 5)]
    other = finding(WARNING, where=Where(gpu=3))
    outcome = Outcome((*cards[:2], other, *cards[2:]), (), (), 5, 0.1)
    report = as_dict(Diagnosis("check", Subject(), outcome))
    text = drawn(report)
    assert text.count("✗ TRL901") == 1
    assert re.search(r"TRL901 made-up-problem +GPU 0, 1, 2, 5\n", text)
    assert text.count("num_generations=") >= 4, "what each card says is kept"
    assert "errors: 1 · warnings: 1" in text
    assert len(report["findings"]) == 5, "programs get all of them"
    assert html.render(report).count("<article") == 2


def test_manuals_are_named_once_at_the_foot(report: dict[str, Any]) -> None:
    text = drawn(report)
    assert text.count("doctor explain") == 1
    assert "doctor explain ID prints the manual: TRL901 TRL902 TRL903" in text


@pytest.mark.parametrize("width", [40, 80, 110])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_text_fits_the_width_and_commands_stay_whole(report: dict[str, Any], width: int, language: str) -> None:
    text = drawn(report, width, language)
    command = report["findings"][0]["remedy"]["commands"][1]
    assert text.count(command) == 3, "a command is one line, to be pasted"
    from rich.cells import cell_len

    for line in text.splitlines():
        if command not in line and "GPU004" not in line and "/run/train.py" not in line:
            assert cell_len(line.rstrip()) <= width, line


def test_terminals_that_cannot_draw_get_ascii_signs(report: dict[str, Any]) -> None:
    report["skipped"] = []
    text = drawn({**report, "target": {**report["target"], "summary": []}}, encoding="latin-1")
    assert "x TRL901 made-up-problem" in text
    assert "! TRL902" in text


def test_no_markup_is_interpreted(report: dict[str, Any]) -> None:
    assert HOSTILE in drawn(report, width=110)
    page = html.render(report)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


class _Balance(HTMLParser):
    VOID = frozenset({"meta", "br", "hr", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", ["en", "zh"])
def test_html_is_whole_and_asks_nobody(report: dict[str, Any], language: str) -> None:
    page = html.render(report, language)
    parser = _Balance()
    parser.feed(page)
    assert not parser.open
    assert not re.search(r'(src|href)="', page)
    assert f'<html lang="{"zh-CN" if language == "zh" else "en"}">' in page


@pytest.mark.process
def test_html_renders_in_a_browser_without_errors(report: dict[str, Any], tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    page = tmp_path / "report.html"
    page.write_text(html.render(report))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-quic", "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--window-size=390,900", "--virtual-time-budget=2000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<article") == 3
    assert "CONSOLE" not in done.stderr


def test_github_annotations_stand_at_their_lines(report: dict[str, Any]) -> None:
    lines = github.render(shortened(report, Path("/run"))).splitlines()
    assert lines[0].startswith("::error title=TRL901 made-up-problem,file=train.py,line=33,col=9::")
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]


def test_sarif_has_what_readers_ask_for(report: dict[str, Any]) -> None:
    log = sarif.render(shortened(report, Path("/run")))
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == ["TRL901", "TRL902", "TRL903"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "train.py"}, "region": {"startLine": 33, "startColumn": 9}}
    assert [each["level"] for each in run["results"]] == ["error", "warning", "note"]


def test_markdown_quotes_evidence_where_it_cannot_break_out(report: dict[str, Any]) -> None:
    report["findings"][0]["evidence"][0]["text"] = "``` <img>"
    text = markdown.render(report)
    assert "''' <img>" in text
    assert text.count("```") % 2 == 0


def test_healthy_report_is_short() -> None:
    healthy = as_dict(Diagnosis("check", Subject(), Outcome((), (), (), 40, 0.1), seconds=0.1))
    assert len(drawn(healthy).strip().splitlines()) == 2
    blind = as_dict(Diagnosis("check", Subject(), Outcome((), (Skipped("GPU004", "no driver"),), (), 40, 0.1)))
    assert "could not see everything" in drawn(blind)


def test_every_form_for_people_has_the_fix_and_names_sources_in_the_readers_language() -> None:
    outcome = Outcome((finding(ERROR),), (), (), 1, 0.1)
    told = as_dict(Diagnosis("check", Subject(None, (), (), None, ()), outcome, seconds=0.1))
    told["findings"][0]["remedy"]["fix"] = "TRL901"
    told["findings"][0]["evidence"] = [{"source": "launch command", "line": None, "text": "accelerate launch"}]
    for text in (drawn(told, language="zh"), html.render(told, "zh"), markdown.render(told, "zh")):
        assert "doctor fix TRL901" in text
        assert "启动命令" in text
        assert "launch command" not in text
    assert "launch command" in markdown.render(told)


@pytest.mark.parametrize("echoes", [0, 1, 5])
@pytest.mark.parametrize("severity", ["error", "warning", "info"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_are_of_the_findings_that_are_drawn(echoes: int, severity: str, language: str) -> None:
    from doctor.render.words import WORDS, counted, told_once

    def one(number: int, role: str) -> dict[str, Any]:
        return {"id": f"PYT{number:03}", "name": "a-name", "severity": severity, "role": role,
                "evidence": [{"source": "run.log", "line": 7, "text": "RuntimeError: the same words"}]}  # fmt: skip

    findings = [one(1, "cause"), *(one(2 + each, "symptom") for each in range(echoes))]
    report = {"findings": findings, "verdict": "known", "summary": {"checks_run": 9, "seconds": 0.5}}
    (drawn,) = told_once(findings)
    assert len(drawn[1]) == echoes
    numbers = {
        "errors": 0,
        "warnings": 0,
        "infos": 0,
        {"error": "errors", "warning": "warnings", "info": "infos"}[severity]: 1,
    }
    assert counted(report, WORDS[language]) == WORDS[language]["counts_log"].format(checks=9, seconds=0.5, **numbers)
