"""Shells and the C library in Chinese: signals, errors of files and of the network, as their translations have them."""

from __future__ import annotations

import pytest

from doctor.logs.lines.exits import exits_of
from doctor.logs.lines.lines import Line
from doctor.logs.lines.locales import SAID, in_chinese, in_english

_SIGNALS = {
    "Killed": "SIGKILL", "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS",
    "Terminated": "SIGTERM", "Floating point exception": "SIGFPE", "Illegal instruction": "SIGILL",
}  # fmt: skip
_FORMS = (
    "{}", "{}(吐核)", "{} (核心已转储)", "{}（核心已转储）", "run.sh: 行 5: 12345 {}               （核心已转储）python train.py",
    "run.sh: 第 5 行：12345 {}               python train.py", "run.sh：行 5: 12345 {}  python t.py",
    "run.sh:行5: 12345 {} (吐核)python train.py", "[1]+  {}               (核心已转储) python train.py",
    "[1]    23511 {}(吐核)  python train.py", "[2]-  {}                  python train.py",
)  # fmt: skip


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("english", _SIGNALS)
def test_every_signal_in_every_form(english: str, form: str) -> None:
    for chinese in SAID[english]:
        line = Line(form.format(chinese), "", None, None, "f", 1)
        told = list(exits_of(line))
        assert [each.signal for each in told] == [_SIGNALS[english]], (form, chinese)
        assert told[0].line is line


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("[1]+  Segmentation fault      (core dumped) python train.py", "SIGSEGV"),
        ("[1]    23511 floating point exception (core dumped)  python train.py", "SIGFPE"),
        ("[2]  + 23511 killed     python train.py", "SIGKILL"),
        ("zsh: illegal hardware instruction  python train.py", "SIGILL"),
        ("zsh: abort      python train.py", "SIGABRT"),
        ("[1]+  Killed", "SIGKILL"),
        ("[1]+  Done                    python train.py", ""),
        ("[1] Killed 3 of 4 candidates by length", ""),
        ("[1] terminated early: 3 steps", ""),
        ("zsh: command not found: vllm", ""),
    ],
)
def test_jobs_that_died_as_a_shell_at_a_terminal_tells_it(text: str, signal: str) -> None:
    line = Line(text, "", None, None, "f", 1)
    assert [each.signal for each in exits_of(line)] == ([signal] if signal else [])


@pytest.mark.parametrize("english", SAID)
def test_each_word_is_said_in_english(english: str) -> None:
    for chinese in SAID[english]:
        assert english in in_english(f"cp: 写入 'x' 出错: {chinese}")
        assert chinese.encode() in set(in_chinese([english.encode()]))


@pytest.mark.parametrize("text", ["训练步中显存不足", "loss 下降了", "奖励函数返回 0", "plain English: Killed"])
def test_other_lines_stay_as_they_are(text: str) -> None:
    assert in_english(text) == text
