"""Notes on many problems are no log of one run: none of their failures is called the cause."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalogue.finding import LIKELY, Role
from doctor.logs.lines.notes import is_notes
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
OOM = ["```", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "```"]
FLASH = ["```", "ModuleNotFoundError: No module named 'flash_attn'", "```"]
SHM = ["```text", "Traceback (most recent call last):", '  File "/home/me/train.py", line 3, in <module>', "    main()",
       "RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error.", "```"]  # fmt: skip
ENVIRONMENT = ["```", "transformers==4.55.4", "torch==2.7.1", "```"]


def text(*parts: str | list[str]) -> str:
    return "\n".join(line for part in parts for line in ([part] if isinstance(part, str) else part)) + "\n"


#: in the ways of https://github.com/zunian-wan/LightRFT (troubleshooting.md), https://github.com/johnson7788/RLDecisionAgent
#: (docs/*/Error.md), https://github.com/verl-project/verl (docs/faq/faq.rst), https://github.com/hunwenpinghao/agent_data_collect
NOTES = {
    "guide.md": text("# Troubleshooting Guide", "## Memory", OOM, "## Installation", FLASH),
    "solved.md": text("# Training", "## A", OOM, "**Solution**: a smaller batch", "## B", FLASH, "**Solution**: pip"),
    "mine.md": text("# 报错，显存", OOM, "# 报错 缺包", FLASH, "# 报错", SHM),
    "named.txt": text("## CUDA out of memory", OOM, "## flash_attn not found", FLASH),
    "faq.rst": text("Frequently asked", "================", "Memory", "------", OOM[1], "Wheels", "------", FLASH[1]),
    "zh.md": text("# 常见问题与解决方案", "## 1. 显存", OOM, "## 2. 依赖", FLASH),
}
#: reports and logs of one failure
ONES = {
    "issue.md": text("# RuntimeError in DataLoader", "### Describe the bug", SHM, "### System info", ENVIRONMENT),
    "twice.md": text("### Problem", SHM, "### Full log, cannot be shorter", SHM),
    "template.md": text("### 问题描述", SHM, "### 报错信息", OOM),
    "report.md": text("## Summary", SHM, "## Root cause", "shm", "## Workaround", OOM, "## Fix", "none yet"),
    "one.md": text("# Troubleshooting", "## Memory", OOM, "## Installation", "pip install flash-attn"),
    "train.log": text("# Troubleshooting", "## a fails", OOM[1], "## b fails", FLASH[1]),
}


#: what these failures are known as
ONE_OF = ("HST001", "MEM6839/unknown_phase", "PYT3270/flash_attn")


@pytest.mark.parametrize("name", NOTES)
def test_notes_have_no_cause(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(NOTES[name])
    found = examine([str(path)], prepared=PREPARED)
    first, *others = found.ranked.findings
    assert first.problem.id == "UNK003"
    assert "notes on many problems" in first.words().headline
    assert first.where.line is None
    assert others
    assert all(each.role is Role.CONTRIBUTING and each.confidence is LIKELY for each in others)
    assert found.diagnosis.verdict == "unknown"


@pytest.mark.parametrize("name", ONES)
def test_one_failure_is_told(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(ONES[name])
    assert examine([str(path)], prepared=PREPARED).ranked.findings[0].problem.id in ONE_OF


def test_notes_beside_a_log_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "errors.md").write_text(NOTES["guide.md"])
    (tmp_path / "train.log").write_text(text(SHM[1:-1]))
    found = examine([str(tmp_path)], prepared=PREPARED).ranked.findings
    assert {Path(each.where.file or "").name for each in found} == {"train.log"}


LINES = st.sampled_from(
    ["# a fails", "## Solution:", "```", "  ~~~", "====", "title", "", "解决：", "**Fix**", "# ", "#" * 400]
)


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(LINES | st.text(max_size=20), max_size=40),
    told=st.lists(st.tuples(st.integers(1, 40), st.sampled_from("AB"))),
)
def test_no_text_breaks_it(texts: list[str], told: list[tuple[int, str]]) -> None:
    for name in ("a.md", "a.rst", "a.log", "-"):
        is_notes(name, list(enumerate(texts, 1)), told)


def test_time_grows_with_the_length_alone() -> None:
    lines = list(enumerate(["# a fails", "x" * 190, " " * 190, "*" * 190, "```"] * 6_000, 1))
    started = time.process_time()
    is_notes("a.md", lines, [(number, str(number % 7)) for number, _ in lines])
    assert time.process_time() - started < 5
