"""`doctor explain` in Chinese."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.index import load
from doctor.catalogue.manual_zh import manual_zh
from tests.cli.test_commands import run_doctor

CHINESE = re.compile("[\u4e00-\u9fff]")


def test_every_problem_has_a_manual_in_chinese() -> None:
    for entry in load():
        text = manual_zh(entry)
        assert text is not None, entry.id
        *shown, (last, references) = text.sections.items()
        assert (last, "https://" in references) == ("参考", True), entry.id
        assert shown, entry.id
        for heading, section in shown:
            assert CHINESE.search(heading + section), (entry.id, heading)
            assert section.startswith("说明:"), (entry.id, heading)
            assert "\n\n处理方法:" in section, (entry.id, heading)


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "env"), [(("--lang", "zh"), {}), ((), {"LC_ALL": "zh_CN.UTF-8"})], ids=["option", "locale"]
)
def test_a_page_in_chinese(tmp_path: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
    page = run_doctor("explain", "gpu004", *words, cwd=tmp_path, env=env).stdout
    assert page.startswith("# GPU004 gpu-uncorrected-ecc\n\n严重程度:错误。检测方式:启动前检查、日志分析。\n")
    assert "## … 自驱动加载以来有 … 个无法纠正的 ECC 错误\n\n说明:访问到坏显存的进程" in page
    assert page.endswith("## 参考\n\nhttps://docs.nvidia.com/deploy/xid-errors/\n")


def test_chinese_for_programs(tmp_path: Path) -> None:
    said = run_doctor("explain", "GPU004", "--lang", "zh", "--format", "json", cwd=tmp_path).stdout
    data: dict[str, Any] = json.loads(said)
    assert (data["id"], data["severity"]) == ("GPU004", "error")
    assert data["title"] in data["sections"]
    assert CHINESE.search(data["title"])


@pytest.mark.process
def test_the_option_wins_over_the_locale(tmp_path: Path) -> None:
    page = run_doctor("explain", "GPU004", "--lang", "en", cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"}).stdout
    assert "## What to do" in page
    assert not CHINESE.search(page)
