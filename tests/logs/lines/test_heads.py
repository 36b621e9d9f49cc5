"""Lines are told apart by cheap signs; what comes of a log is the same as if every line were looked at by everybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.failures.case import Builder
from doctor.logs.lines import hints
from doctor.logs.lines.heads import is_bare, process_of
from doctor.logs.lines.prefixes import Stripped, strip
from doctor.logs.match.literal_engines import ENGINES, make_engine
from doctor.logs.read.context import Given
from doctor.logs.read.layouts import LogSource

HEADS = (
    "", " ", "  ", "[rank3]: ", "[rank 12]:", "[default1]:", "[Rank 2] ", "(WorkerDict pid=17, ip=10.0.0.1) ",
    "\x1b[36m(WorkerDict pid=17)\x1b[0m ", "[36m(main_task pid=9)[0m ", "(EngineCore_DP0 pid=7) ", "INFO:     ", "INFO:",
    "INFO 11-20 16:10:28 [core.py:15] ", "2026-11-20 15:06:44,045 - ", "2026-11-20T15:06:44Z stdout F ", "10.0.0.1: ",
    "node1: ", "trainer-1  | ", "> ", "W1120 16:10:28.123456 77 x.py:3] ", "Nov 20 15:06:44 ", "[INFO] ", "(raylet) ",
    "[pod/a/b] ", "node1:77:78 [0] ", "\t", "[1m", "\x1b[1m", "1.5: ", "3: ", "(x) ", "E", "Mon", "0%| ",
)  # fmt: skip
TEXTS = (
    "", " ", "x", "a word", "NCCL INFO Channel", "Traceback (most recent call last):", "  File", "10.0.0.3:55 - GET",
    "\t", "the loss: 3", "[m] y", "INFO: x", "é x", "{'a': 1}", "x: [rank3]: y", "> y", "|", "2026-11-20 15:06:44 z",
)  # fmt: skip


@given(st.lists(st.sampled_from(HEADS), max_size=4), st.sampled_from(TEXTS) | st.text(max_size=12))
@settings(max_examples=400, deadline=None)
def test_what_is_told_cheaply_is_what_strip_tells(heads, text) -> None:
    line = "".join((*heads, text)).replace("\n", "")
    if hints.worth([line])[0] & hints.EVERYBODY == hints.EVERYBODY:
        return  # JSON and what Ray folded are always taken apart
    process, stripped = process_of(line), strip(line)
    if process is not None:
        assert (process, stripped.stamp) == (stripped.process, None)
        assert stripped.text.strip()
    if is_bare(line):
        assert stripped == Stripped("", None, None, line.rstrip("\r\n"))


def test_most_lines_are_told_cheaply() -> None:
    assert process_of("[rank3]: some text") == "rank 3"
    assert process_of("(APIServer pid=40) INFO:     10.0.0.1:29 - GET") == "APIServer pid=40"
    assert process_of("\x1b[36m(WorkerDict pid=17)\x1b[0m Total params: 3") == "WorkerDict pid=17"
    assert process_of("the reward of a step") == ""
    assert process_of("INFO 11-20 16:10:28 [core.py:15] x") is None


def _case(path: Path) -> object:
    lines = list(enumerate(path.read_text("utf-8", "replace").split("\n"), 1))
    builder = Builder(Given(), 2026)
    builder.add(LogSource(str(path)), lines)
    return builder.close()


LOGS = sorted(Path(__file__).parent.parent.parent.glob("postmortem/*/log.txt")) + sorted(
    Path(__file__).parent.parent.parent.glob("healthy/*.log")
)


@pytest.mark.parametrize("path", LOGS[::2], ids=lambda path: path.parent.name + path.stem)
def test_nothing_is_missed_by_not_looking_at_every_line(path, monkeypatch) -> None:
    quick = _case(path)
    everything = hints.EVERYBODY | hints.PROGRESS | hints.SERVING | hints.DICT
    monkeypatch.setattr(hints, "worth", lambda lines: [everything] * len(lines))
    assert repr(_case(path)) == repr(quick)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_tells_the_same_worth(name, monkeypatch) -> None:
    lines = [each for path in LOGS[:6] for each in path.read_text("utf-8", "replace").split("\n")[:400]]
    told = hints.worth([*lines, "a\nb Traceback (x", "\ud800 Error", "\x1b[31mErr\x1b[0mor: x"])
    made = {low: make_engine([each.encode() for each in (hints._LOWERED if low else hints._WORDS)], name)
            for low in (False, True)}  # fmt: skip
    monkeypatch.setattr(hints, "_engine", lambda *, lowered: made[lowered])
    assert hints.worth([*lines, "a\nb Traceback (x", "\ud800 Error", "\x1b[31mErr\x1b[0mor: x"]) == told
    assert all(each & hints.FAILURE for each in told[-3:])
