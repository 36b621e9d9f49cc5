"""`doctor explain` in Chinese."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.index import load
from doctor.catalogue.manual_zh import manual_zh
from tests.commands import run_doctor

CHINESE = re.compile("[\u4e00-\u9fff]")


def test_every_problem_has_a_manual_in_chinese() -> None:
    for entry in load():
        text = manual_zh(entry)
        assert text is not None, entry.id
        *shown, (last, references) = text.sections.items()
        assert (last, "https://" in references) == ("参考", True), entry.id
        assert any(heading.endswith("(英文手册)") for heading, _ in shown), entry.id
        for heading, section in shown:
            assert CHINESE.search(heading), (entry.id, heading)
            assert section.strip(), (entry.id, heading)
        own = "".join(section for heading, section in shown if heading in {"影响", "处理方法"})
        assert not re.search(r"…|\[[?!]", own), (entry.id, "a template with holes")


def test_most_problems_say_in_chinese_what_to_do() -> None:
    told = [manual_zh(entry) for entry in load()]
    assert sum("处理方法" in each.sections for each in told if each is not None) > 0.9 * len(told)


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "env"), [(("--lang", "zh"), {}), ((), {"LC_ALL": "zh_CN.UTF-8"})], ids=["option", "locale"]
)
def test_a_page_in_chinese(tmp_path: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
    page = run_doctor("explain", "gpu004", *words, cwd=tmp_path, env=env).stdout
    assert page.startswith("# GPU004 gpu-uncorrected-ecc\n\n严重程度:错误。检测方式:启动前检查、日志分析。\n")
    assert "## 影响\n\n" in page
    assert "访问到坏显存的进程会以 Xid 48 或 94 退出" in page
    assert "## 怎么办(英文手册)\n\n" in page
    assert page.endswith("## 参考\n\nhttps://docs.nvidia.com/deploy/xid-errors/\n")


def test_chinese_for_programs(tmp_path: Path) -> None:
    said = run_doctor("explain", "GPU004", "--lang", "zh", "--format", "json", cwd=tmp_path).stdout
    data: dict[str, Any] = json.loads(said)
    assert (data["id"], data["severity"]) == ("GPU004", "error")
    assert list(data["sections"])[:2] == ["影响", "处理方法"]
    assert CHINESE.search(data["sections"]["处理方法"])


@pytest.mark.process
def test_the_option_wins_over_the_locale(tmp_path: Path) -> None:
    page = run_doctor("explain", "GPU004", "--lang", "en", cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"}).stdout
    assert "## What to do" in page
    assert not CHINESE.search(page)


def test_a_text_that_no_problem_knows_and_a_path_are_said_to_be_that(tmp_path: Path) -> None:
    done = run_doctor("explain", "nothing of the kind is known", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("No known problem has this text.")
    (tmp_path / "train.log").write_text("")
    done = run_doctor("explain", "train.log", cwd=tmp_path)
    assert done.returncode == 2
    assert "It is a path: `doctor postmortem train.log` reads it." in done.stderr
