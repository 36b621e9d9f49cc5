"""What a command says of itself, and why it refuses, has its Chinese; `--lang zh` and the locale use it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import doctor
from doctor.catalogue.reasons import table, translated
from tests.commands import run_doctor
from tests.core.test_reasons import _templates, parsed

SOURCES = Path(doctor.__file__).parent
#: exceptions whose words a command shows when it refuses, and what shows a line of its own
SAYERS = {
    "UsageError", "NotFacts", "NoLogs", "Refused", "ArchiveRefused", "SettingsError", "PlanError", "SizeError",
    "NoServer", "NotUsage", "StreamError", "NoMeeting", "RayRefused", "EngineMissing", "UnpackError",
    "UnreadableConfigError", "notice", "tell", "_tell",
}  # fmt: skip
FOLDERS = (
    "cli/*.py", "base/*.py", "catalogue/*.py", "diagnosis/**/*.py", "run/*.py", "logs/**/*.py", "cluster/*.py",
    "sizing/*.py",
    "readers/saved.py", "monitors/sampler/*.py", "monitors/usage/*.py", "mend/**/*.py", "serve/*.py", "fixes/*.py",
    "fixes/vllm/*.py",
)  # fmt: skip
#: not sentences: what a cluster's refusal is of, and the words that go before an exception's own
KINDS = {"interpreter", "connect", "ended", "version"}


def _said() -> Iterator[tuple[str, str]]:
    """(sentence, file) of all that may be said; of a name, what the function assigns to it."""
    for path, tree in parsed((each for folder in FOLDERS for each in SOURCES.glob(folder)), SAYERS):
        if path.name in {"dev.py", "ray_main.py"}:
            continue
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                yield from ((each, path.name) for each in _of(function))


def _of(function: ast.FunctionDef) -> Iterator[str]:
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SAYERS:
            for argument in node.args[:2]:
                of_name = given.get(argument.id, []) if isinstance(argument, ast.Name) else [argument]
                yield from (text for value in of_name for text in _templates(value) if " " in text or "{}" in text)


def test_every_notice_has_its_chinese() -> None:
    said = {(each, name) for each, name in _said() if each.strip("{}`:;, ") not in {"", "doctor"} and each not in KINDS}
    assert len(said) > 100
    assert sorted(f"{name}: {each}" for each, name in said if each not in table("notices")) == []


def test_the_chinese_of_a_notice_keeps_every_value() -> None:
    for english, chinese in table("notices").items():
        values = [f"<{number}>" for number in range(english.count("{}"))]
        assert all(value in chinese.format(*values) for value in values), english


def doctor_said(*words: str, cwd: Path, **variables: str) -> tuple[int, str]:
    done = run_doctor(*words, cwd=cwd, env={"LC_ALL": "C.UTF-8", **variables})
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["postmortem", "--lang", "zh", "/nope"], "错误:`/nope` 不存在\n"),
        (["check", "--lang=zh", "--nope"], "错误:没有选项 '--nope'。"),
        (["monitor", "--lang", "zh", "--interval", "abc"], "错误:'--interval' 的值无效:`abc` 不是时长"),
        (["plan", "--lang", "zh"], "错误:请给出模型"),
    ],
)
def test_a_refusal_follows_the_language(words: list[str], said: str, tmp_path: Path) -> None:
    code, told = doctor_said(*words, cwd=tmp_path)
    assert code == 2
    assert said in told
    assert "Usage" not in told
    code, told = doctor_said(*(each.replace("zh", "en") for each in words), cwd=tmp_path)
    assert code == 2
    assert told.startswith("Usage: doctor")


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("NVML cannot be initialised: Unknown Error", "无法初始化 NVML:Unknown Error"),
        ("doctor: no GPU sampled, figures of the host only: NVML cannot be initialised: x",
         "doctor: 没有采样 GPU,只有主机的数据:无法初始化 NVML:x"),
        ("no launch command given", "没有给出启动命令"),
        ("doctor.toml: unknown key `x`; known are ignore, strict, lang",
         "doctor.toml:未知的键 `x`;可用的有 ignore、strict、lang"),
        ("train.log: Permission denied", "train.log:权限不足"),
        ("somebody else's words", "somebody else's words"),
    ],
)  # fmt: skip
def test_notices_in_chinese(english: str, chinese: str) -> None:
    assert translated(english, "zh", "notices") == chinese
    assert translated(english, "en", "notices") == english


def test_the_words_of_the_command_choose_no_language(tmp_path: Path) -> None:
    code, told = doctor_said("monitor", "--", "train.py", "--lang", "zh", cwd=tmp_path)
    assert code == 2
    assert "Error: `train.py`: run a command with" in told


@pytest.mark.process
def test_settings_and_the_locale_choose_it_too(tmp_path: Path) -> None:
    assert "没有问题 `NOPE`" in doctor_said("explain", "NOPE", cwd=tmp_path, LC_ALL="zh_CN.UTF-8")[1]
    (tmp_path / "doctor.toml").write_text('lang = "zh"\n')
    assert "没有问题 `NOPE`" in doctor_said("explain", "NOPE", cwd=tmp_path)[1]
    assert "There is no problem `NOPE`" in doctor_said("explain", "--lang", "en", "NOPE", cwd=tmp_path)[1]


def test_what_the_monitor_says_is_chinese(tmp_path: Path) -> None:
    code, told = doctor_said("monitor", "--lang", "zh", "--during-run", "--", "sleep", "2", cwd=tmp_path)
    assert code == 0
    assert "doctor: 采样数据写入 doctor-runs/" in told
    assert "doctor: 数据在 doctor-runs/" in told


def test_a_comparison_is_headed_in_chinese(tmp_path: Path) -> None:
    for name, version in (("a", "1.0"), ("b", "2.0")):
        path = tmp_path / f"{name}.txt"
        path.write_text(f"Package Version\n------- -------\ntrl     {version}\ntorch   2.0\n")
    done = run_doctor("diff", "a.txt", "b.txt", "--lang", "zh", "--format", "markdown", cwd=tmp_path)
    assert done.stdout.startswith("| 内容 | 之前 | 之后 |"), json.dumps(done.stdout + done.stderr)
