"""Control sequences of logs, files and commands never reach a terminal; colours of the doctor's own do."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.render.console import console_for
from doctor.render.plain import PlainOutput, plain, plain_output
from tests.homes import with_cache

EVIL = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]52;c;AAAA\x1b\\ \x9b2J \x1bc \x08\x7f \u202egpj.exe \x1bP1$r\x1b\\"
FORBIDDEN = [chr(each) for each in (*range(9), 11, 12, *range(14, 32), *range(127, 160))] + list("\u202e\u2066")


@given(st.text(st.sampled_from("ab\x1b[]0;m\x07\\\x9b\u202e\x00\n\t\rP?2J"), max_size=60))
def test_nothing_that_commands_is_left(text: str) -> None:
    assert not any(each in plain(text) for each in FORBIDDEN)
    assert plain(plain(text)) == plain(text)
    stream = io.BytesIO()
    with plain_output(io.TextIOWrapper(stream, encoding="utf-8")) as out:
        assert out.write(text) == len(text)
        out.flush()
        assert stream.getvalue().decode() == plain(text)


def test_clean_text_is_untouched() -> None:
    assert plain("loss 0.5\t│ 正常 ✗\r\n") == "loss 0.5\t│ 正常 ✗\r\n"


@pytest.mark.parametrize("color", [True, False])
def test_a_console_cleans_text_and_keeps_its_own_colours(color: bool) -> None:
    from rich.text import Text

    stream = io.BytesIO()
    out = PlainOutput(stream, encoding="utf-8", newline="\n")
    console_for(out, color=color).print(Text(EVIL, style="bold red"))
    out.flush()
    written = stream.getvalue().decode()
    assert ("\x1b[1;31m" in written) == color
    assert not any(each in written for each in ("\x1b]", "\x1bc", "\x1bP", "\x9b", "\x1b[31mred", "\u202e"))


@pytest.mark.process
@pytest.mark.parametrize(
    "argv",
    [
        ["report", "{csv}"],
        ["postmortem", "{log}"],
        ["postmortem", "{log}", "--format", "markdown"],
        ["postmortem", "gone\x1b[31m.log"],
        ["check", "--ignore", "all\x1b]0;x\x07", "--", "\x1b[31mtrain\x9b2J"],
        ["explain", "\x1b[31mVLL001"],
        ["\x1b[31mcheck"],
        ["run", "--no-check", "--", "./gone\x1b[2J"],
    ],
    ids=lambda argv: argv[0].strip("\x1b[31m"),
)
def test_on_a_terminal_no_output_has_them(argv: list[str], tmp_path: Path) -> None:
    (tmp_path / "gpu.csv").write_text(f"{EVIL},b\n1,2\n")
    log = tmp_path / "train.log"
    log.write_text(f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nRuntimeError: {EVIL}\n')
    argv = [each.format(csv=tmp_path / "gpu.csv", log=log) for each in argv]
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path), "HOME": str(with_cache(tmp_path))}
    with subprocess.Popen(
        [sys.executable, "-m", "doctor", *argv],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env=env,
        cwd=tmp_path,
    ) as child:
        os.close(slave)
        written = b""
        while True:
            try:
                data = os.read(master, 1 << 16)
            except OSError:  # how Linux tells the end of a terminal
                break
            if not data:
                break
            written += data
        assert child.wait(60) in {0, 1, 2, 3, 126, 127}
    os.close(master)
    text = written.decode("utf-8", "replace")
    assert text
    for each in (
        "\x1b]",
        "\x1bc",
        "\x1bP",
        "\x9b",
        "\x1b[2J",
        "\x1b[31mred",
        "\x1b[31mtrain",
        "\x1b[31m.log",
        "\x08",
        "\u202e",
    ):
        assert each not in text
