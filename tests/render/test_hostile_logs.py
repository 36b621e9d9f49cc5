"""What a log says is inert in every format: terminal codes, markup, scripts, fences, commands of GitHub's runner."""

from __future__ import annotations

import json
import re

import pytest

from doctor.catalogue.index import catalogue_roots, load
from doctor.cli.options import rendered
from doctor.diagnosis.report import Diagnosis, as_dict
from doctor.logs.postmortem import examine, prepare

#: ends of colours and bells are what makes a terminal act: title, link, clipboard, cursor, C1 forms, backspaces
CODES = (
    "\x1b]0;owned\x07", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[H", "\x9b31m", "\x08\x08\x08", "\x07", "\u202e", "\x1b[", "\x1bP+q544e\x1b\\",
    "\x00", "\u2028", "\x85",
)  # fmt: skip
WORDS = (
    "[bold red]x[/bold red]", "[/]", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre>", "```",
    "~~~~", "::set-output name=a::b", "::error file=a::owned", "&lt;b&gt;", "{who}",
    "%0A::warning::x", "|", "\\", "]]>", "javascript:alert(1)",
)  # fmt: skip
FORMATS = ("text", "json", "markdown", "html", "github", "sarif")


def _log() -> str:
    hostile = [*CODES, *WORDS]
    lines = ["Traceback (most recent call last):"]
    lines += [f'  File "/srv/{each}/train.py", line 3, in {each}' for each in WORDS]
    lines += [f"::add-mask::{each}" for each in hostile]
    lines += [f"ValueError: {' '.join(hostile)}", *(f"[rank1]: RuntimeError: {each} went wrong" for each in hostile)]
    lines += [f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. {' '.join(hostile)}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory) -> Diagnosis:
    path = tmp_path_factory.mktemp("logs") / "[red]<b>``` ::error::.log"
    path.write_text(_log(), encoding="utf-8", errors="surrogatepass")
    prepared = prepare([each for each in load(catalogue_roots()) if each.area in ("memory", "unknown", "nccl")])
    return examine([str(path)], prepared=prepared).diagnosis


@pytest.mark.parametrize("form", FORMATS)
def test_no_terminal_code_comes_through(diagnosis, form) -> None:
    text = rendered(as_dict(diagnosis), form, "en", verbose=True)
    acting = sorted({each for each in text if (ord(each) < 32 and each not in "\n\t") or 127 <= ord(each) < 160})
    assert acting == []
    assert "\u202e" not in text
    if form in ("json", "sarif"):
        json.loads(text)


def test_html_holds_no_element_of_the_log(diagnosis) -> None:
    page = rendered(as_dict(diagnosis), "html", "en", verbose=True)
    assert "OutOfMemory" in page
    assert not re.search(r"<script>alert|<img src=x|<b>```", page)
    assert not re.search(r"href=.?javascript:", page)


@pytest.mark.parametrize("columns", ["40", "60", "77", "80", "91", "100"])
def test_no_line_is_a_command_of_githubs_runner(diagnosis, monkeypatch, columns) -> None:
    """The runner looks for `::` behind blanks, in whatever a step prints."""
    told = {"error", "warning", "notice"}
    monkeypatch.setenv("COLUMNS", columns)
    for form in FORMATS:
        for line in rendered(as_dict(diagnosis), form, "en", verbose=True).splitlines():
            command = re.match(r"\s*::(\w[\w-]*)", line)
            assert command is None or (form == "github" and command[1] in told and "title=" in line), (form, line)


def test_markdown_fences_are_not_left(diagnosis) -> None:
    text = rendered(as_dict(diagnosis), "markdown", "en", verbose=True)
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"\s{0,3}(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == mark[1] and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            assert "<script" not in line
            assert "<img" not in line
    assert fence == ""
