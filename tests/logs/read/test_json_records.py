"""Records of structured loggers: the traceback in a field is read as if it were written; nothing else is touched."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.postmortem import examine
from doctor.logs.read.json_records import HEADER, lines_of, unfolded
from tests.prepared import prepared_once

FOLDER = Path(__file__).with_name("records")
RECORDS = sorted(FOLDER.glob("*.log"))
PREPARED = prepared_once()
TRACE = (
    f'{HEADER}:\n  File "/home/me/train.py", line 3, in <module>\n    main()\nValueError: 3 rewards for 4 completions'
)
#: what says which rank wrote the record, by sample
RANKS = {"pythonjson_rename": 3, "structlog": 2, "structlog_dicts": 2, "datadog": 5}


def through(text: str, portion: int = 1 << 16) -> str:
    data = text.encode()
    return b"".join(unfolded(data[at : at + portion] for at in range(0, len(data), portion))).decode()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_cause_is_found(path: Path) -> None:
    found = examine([str(path)], prepared=PREPARED)
    failure = found.case.failures[0]
    if path.stem.startswith("ecs"):  # it keeps the last exception alone
        assert failure.cause.name == "RuntimeError"
        assert failure.cause.frames[-1].function == "chained"
        return
    expected = "OutOfMemoryError" if path.stem.endswith("oom") else "KeyError"
    assert [each.name for each in failure.chain] == [expected, "RuntimeError"]
    assert [each.function for each in failure.cause.frames] == ["chained", "training_step", "compute_loss"]
    logger = path.stem.rpartition("-")[0]
    assert failure.rank == RANKS.get(logger)
    finding = found.ranked.findings[0]
    assert finding.problem.id == ("MEM6839/training_step" if path.stem.endswith("oom") else "UNK001")
    lines = path.read_text().splitlines()
    assert finding.where.line is not None
    assert failure.cause.message.partition("\n")[0][:20] in lines[finding.where.line - 1].replace("\\", "")


def test_a_pipe_is_read_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(each for each in RECORDS if each.stem.endswith("oom"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    first, same = (examine([name], prepared=PREPARED).ranked.findings[0] for name in ("-", str(path)))
    assert (
        (first.problem.id, first.where.line)
        == (same.problem.id, same.where.line)
        == ("MEM6839/training_step", same.where.line)
    )


def test_time_and_level_of_the_record_count(tmp_path: Path) -> None:
    record = {"level": "error", "message": "step failed", "ts": 1795397586.5, "exc_info": TRACE}
    assert lines_of(record) == [
        "2026-11-23T01:33:06.500Z ERROR step failed",
        *TRACE.split("\n"),
    ]
    path = tmp_path / "train.log"
    path.write_text("".join(json.dumps(each) + "\n" for each in ({"level": "info", "message": "begin"}, record)))
    failure = examine([str(path)], prepared=PREPARED).case.failures[0]
    assert failure.caught == "E"
    assert failure.first.number == 2


@pytest.mark.parametrize(
    ("record", "first"),
    [
        ({"message": "failed", "exc_info": TRACE}, "failed"),  # python-json-logger as it comes
        ({"levelname": "ERROR", "message": "failed", "exc_text": TRACE}, "ERROR: failed"),
        ({"severity": "CRITICAL", "message": f"failed\n{TRACE}"}, "CRITICAL: failed"),
        ({"jsonPayload": {"message": "failed", "stack_trace": TRACE}, "severity": "ERROR"}, "ERROR: failed"),
        ({"level": "error", "event": "failed", "exception": TRACE.split("\n")}, "ERROR: failed"),
        ({"level": "ERROR", "rank": "7", "message": "failed", "exc_info": TRACE}, "[rank7]: ERROR: failed"),
        ({"log": json.dumps({"level": "error", "message": "failed", "exc_info": TRACE})}, "ERROR: failed"),
    ],
)
def test_forms(record: dict[str, Any], first: str) -> None:
    lines = lines_of(record)
    assert lines is not None
    assert lines[0] == first
    assert lines[-1].endswith("ValueError: 3 rewards for 4 completions") or lines[-1] == " "


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "write a program", "completion": TRACE, "reward": 0.0},
        {"prompt": "p", "traceback": TRACE, "passed": False},
        {"step": 3, "message": f"the program printed\n{TRACE}"},  # a turn of a conversation
        {"role": "tool", "text": TRACE},
        {"level": "info", "message": f"{HEADER}:"},  # a line of its own
        {"log": f"{HEADER}:\n", "stream": "stderr", "time": "2026-03-04T05:06:07.1Z"},
        {"level": "error", "message": "failed", "exc_info": True},
        {"level": "error", "message": "failed", "stack_trace": 3, "exception": [{"exc_type": 4}]},
        [],
        TRACE,
    ],
    ids=range(10),
)
def test_what_is_no_record_passes(record: object) -> None:
    assert lines_of(record) is None
    line = json.dumps(record) + "\n"
    assert through(line) == line


def test_what_was_told_in_passing_ends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    records = [
        {"level": "info", "message": "the optional kernel is not there", "exc_info": TRACE},
        {"level": "error", "message": "step failed", "exc_info": TRACE.replace("ValueError: 3", "KeyError: 4")},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    case = examine([str(path)], prepared=PREPARED).case
    assert [each.handled for each in case.failures] == [True, False]


def test_a_record_behind_the_name_of_a_container_keeps_it() -> None:
    line = "worker-1  | " + json.dumps({"level": "error", "message": "failed", "exc_info": TRACE})
    assert through(line) == "\r".join(f"worker-1  | {each}" for each in ["ERROR: failed", *TRACE.split("\n")])


def test_a_recursion_of_a_thousand_frames_keeps_both_ends() -> None:
    frame = '  File "/home/me/a_folder_with_a_long_name/train.py", line 3, in walk\n    return walk(node)\n'
    trace = f"{HEADER}:\n{frame * 1000}RecursionError: maximum recursion depth exceeded"
    lines = lines_of({"level": "error", "message": "m" * 100_000, "exc_info": trace})
    assert lines is not None
    assert len("\r".join(lines)) < 19_000
    assert lines[1] == f"{HEADER}:"
    assert lines[-1] == "RecursionError: maximum recursion depth exceeded"


TEXT = st.text(alphabet=st.sampled_from(f'{{}}[]",:\\n\r\n abcé{HEADER[0]}'), max_size=60) | st.just(TRACE)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["exception", "exc_type", "frames", "text", "record", "level", "ts"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from(
                ["message", "exc_info", "exception", "level", "time", "ts", "rank", "text", "record", "error", "event"]
            ),
            VALUES,
        )
        | TEXT,
        max_size=8,
    ),
    portion=st.integers(1, 200),
)
def test_no_text_breaks_it_and_no_line_moves(records: list[object], portion: int) -> None:
    text = "\n".join(json.dumps(each) if isinstance(each, dict) else str(each) for each in records)
    got = through(text, portion)
    assert got.count("\n") == text.count("\n")
    for before, after in zip(text.split("\n"), got.split("\n"), strict=True):
        assert before == after or HEADER in after


def test_time_grows_with_the_length_alone() -> None:
    """Ten megabytes of records, each with a traceback, and a line of ten megabytes, within seconds."""
    line = json.dumps({"level": "error", "message": "failed", "step": 3, "exc_info": TRACE}) + "\n"
    started = time.process_time()
    through(line * (10_000_000 // len(line)))
    through('{"level": "error", "exc_info": "' + HEADER + "x" * 10_000_000)
    through('{"' * 5_000_000 + HEADER)
    assert time.process_time() - started < 20
