"""Damaged and hostile input costs itself: what is whole beside it is read, and memory stays flat."""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from doctor.base.json_text import json_text
from doctor.cli.app import app
from doctor.monitors.sampler import columns
from tests.each import for_each

pytestmark = pytest.mark.usefixtures("catalogue_read_once")

ROWS = 40
BASE_NS = 1_772_000_000_000_000_000
TRL = {"name": "trl", "version": "0.14.0"}


def run(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done


def gpu_rows() -> list[str]:
    rows = []
    for at in range(ROWS):
        row = dict.fromkeys(columns.GPU, "") | {"t_ns": str(BASE_NS + at * 10**9), "mono_s": str(at), "host": "h"}
        row |= {"gpu": "0", "gpu_busy_pct": "50", "power_w": "300", "throttle_reasons": "none"}
        rows.append(",".join(row.values()))
    return rows


HEAD = ["# schema doctor-gpu/1", ",".join(columns.GPU)]
#: class of damage -> (bytes, rows that are whole; None: the file is refused in words)
DAMAGED: dict[str, tuple[bytes, int | None]] = {
    "as written": ("\n".join([*HEAD, *gpu_rows(), ""]).encode(), ROWS),
    "header twice": ("\n".join([*HEAD, *gpu_rows()[:20], *HEAD, *gpu_rows()[20:], ""]).encode(), ROWS),
    "block of NUL": ("\n".join([*HEAD, *gpu_rows()[:20], "\0" * 4096, *gpu_rows()[20:], ""]).encode(), ROWS),
    "torn row": ("\n".join([*HEAD, *gpu_rows()[:20], gpu_rows()[20][:30], *gpu_rows()[21:], ""]).encode(), ROWS - 1),
    "torn end": ("\n".join([*HEAD, *gpu_rows()]).encode()[:-40], ROWS - 1),
    "lines of Windows": ("\r\n".join([*HEAD, *gpu_rows(), ""]).encode(), ROWS),
    "cells too many": (
        "\n".join([*HEAD, *gpu_rows()[:20], gpu_rows()[20] + ",1,2,3", *gpu_rows()[21:], ""]).encode(), 39,
    ),
    "a word for a number": (
        "\n".join([*HEAD, *gpu_rows()[:20], gpu_rows()[20].replace("50", "fifty"), *gpu_rows()[21:], ""]).encode(), 39,
    ),
    "a time beyond all": (
        "\n".join([*HEAD, *gpu_rows()[:20], "9" * 30 + gpu_rows()[20][19:], *gpu_rows()[21:], ""]).encode(), 39,
    ),
    "no header": ("\n".join([*gpu_rows(), ""]).encode(), None),
    "a header alone": ("\n".join([*HEAD, ""]).encode(), None),
    "nothing": (b"", None),
    "Latin-1": ("\n".join([*HEAD, *gpu_rows(), ""]).encode().replace(b",h,", b",h\xe9,"), ROWS),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGED)
def test_the_whole_rows_of_a_damaged_table_are_read(damage: str, tmp_path: Path) -> None:
    from doctor.monitors.usage.blocks import NotUsage
    from doctor.monitors.usage.files import load

    content, whole = DAMAGED[damage]
    path = tmp_path / "g.csv"
    path.write_bytes(content)
    done = run("report", str(path), "--format", "json")
    if whole is None:
        assert done.exit_code == 2
        with pytest.raises(NotUsage):
            load(path)
        return
    assert done.exit_code in {0, 1}, done.output
    (tracks,) = load(path).gpus.values()
    assert len(tracks["power_w"].t) == whole
    assert set(tracks["power_w"].v.tolist()) == {300.0}


def test_rows_without_a_host_are_of_no_other_host(tmp_path: Path) -> None:
    rows = [row.replace(",h,", ",,") for row in gpu_rows()]
    for name, lines in (("none.csv", rows), ("some.csv", [*gpu_rows()[:20], *rows[20:]])):
        (tmp_path / name).write_text("\n".join([*HEAD, *lines, ""]))
        assert run("report", str(tmp_path / name)).exit_code in {0, 1}
    from doctor.monitors.usage.files import load

    counts = {key.host: len(tracks["power_w"].t) for key, tracks in load(tmp_path / "some.csv").gpus.items()}
    assert counts == {"h": 20, "": 20}


@for_each(
    "name, value",
    [
        (f"{name}={value!r}", (name, value))
        for name in ("argv", "exit", "console", "stopped", "started_ns", "schema")
        for value in (None, True, False, 1.5, 10**40, "x", [], [[1]], {}, {"a": None})
    ],
    group=lambda case: case.partition("=")[0],
)
def test_a_damaged_run_json_is_no_end_and_no_crash(name: str, value: object, tmp_path: Path) -> None:
    for folder in ("gpu", "logs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gpu/h.csv").write_bytes(DAMAGED["as written"][0])
    (tmp_path / "logs/console.log").write_text("".join(f"{{'loss': 0.5, 'epoch': {each}}}\n" for each in range(5)))
    (tmp_path / "run.json").write_text(json.dumps({"schema": "doctor-run/1", "argv": ["a"], name: value}))
    assert run("report", str(tmp_path)).exit_code in {0, 1}
    told = json.loads(run("postmortem", str(tmp_path), "--format", "json").stdout)
    assert told["verdict"] != "healthy"


def test_two_reports_are_one_document(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(DAMAGED["as written"][0])
    one = json.loads(run("report", "--format", "json", str(tmp_path / "a.csv")).output)
    both = json.loads(run("report", "--format", "json", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")).output)
    assert both["schema"] == "doctor-reports/1"
    assert [each["schema"] for each in both["reports"]] == [one["schema"]] * 2
    jsonschema.validate(both, json.loads(run("schema", "reports").output))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udcff\ud800", "\U0001f600", "\u4e2d"])
def test_half_of_a_surrogate_pair_can_be_written(text: str) -> None:
    written = json_text({"said": [text]}, indent=2)
    assert json.loads(written.encode("utf-8")) == {"said": [text]}


@pytest.mark.parametrize("host", ["9" * 5000, "n" + "0" * 6000, "\u0663" * 5000])
def test_nodes_are_named_by_any_number_of_digits(host: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        facts = {
            "schema": "doctor-facts/1",
            "host": f"{host}{name}",
            "captured_ns": 1,
            "doctor_version": "0",
            "facts": {},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(facts))
    assert run("check", "--from", str(tmp_path)).exit_code in {0, 1, 2}


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", " =", "\uff1d", "=\t", "-\x1b[31m"])
def test_no_name_of_a_metric_begins_a_formula(begin: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    name = f"{begin}cmd|' /C calc'!A0"
    log.write_text("".join(f"{json.dumps({'loss': 0.5, name: each, 'epoch': each})}\n" for each in range(1, 5)))
    run("postmortem", str(log), "--metrics-csv", str(tmp_path / "m.csv"))
    cells = [cell for row in csv.reader(io.StringIO((tmp_path / "m.csv").read_text())) for cell in row]
    assert "loss" in cells
    for cell in cells:
        assert cell[:1] not in {"=", "+", "@", "\uff1d"}
        assert "\x1b" not in cell
        assert not cell.startswith("-") or float(cell) < 0


@pytest.mark.parametrize(
    "module", ["swift.cli._megatron.main", "swift.cli.main", "a.b.c.d", ".", "..", "a..b", "-", "é.x", "a" * 5000]
)
def test_a_module_of_any_name_crashes_no_check(module: str, tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text(json.dumps(facts_file()))
    done = run(
        "check", "--from", str(tmp_path / "facts.json"), "--format", "json", "--", "python", "-m", module, "rlhf"
    )
    assert json.loads(done.output)["crashed"] == []


def facts_file(**changes: object) -> dict[str, object]:
    python = {"executable": "/p", "version": "3.11.2", "path": ["/a"]}
    states = {
        "interpreter": {"status": "ok", "value": python, "source": "probe"},
        "packages": {"status": "ok", "value": {"distributions": {"trl": TRL}, "modules": {}}},
    }
    head = {"schema": "doctor-facts/1", "host": "h", "captured_ns": 10**18, "doctor_version": "0"}
    return {**head, "facts": states, **changes}


#: what a damaged file of one node holds
BAD = {
    "NaN": json.dumps(facts_file(captured_ns=float("nan"))),
    "infinite": json.dumps(facts_file(captured_ns=float("inf"))),
    "a time of text": json.dumps(facts_file(captured_ns="now")),
    "a host that is a list": json.dumps(facts_file(host=[["h"]])),
    "a lone surrogate": json.dumps(facts_file(host="node-\ud800")),
    "facts that are a list": json.dumps(facts_file(facts=[1, 2])),
    "facts of numbers": json.dumps(facts_file(facts={"packages": 3, "gpus": None})),
    "a fact of another shape": json.dumps(facts_file(facts={"packages": {"status": "ok", "value": [[]]}})),
    "a status of its own": json.dumps(facts_file(facts={"packages": {"status": ["ok"], "value": {}}})),
    "a clock of text": json.dumps(facts_file(clock={"offset_s": "\0"})),
    "a clock that is a list": json.dumps(facts_file(clock=[0.1])),
    "a clock without an end": json.dumps(facts_file(clock={"offset_s": float("inf"), "error_s": float("nan")})),
    "deep": '{"schema": "doctor-facts/1", "facts": ' + "[" * 100_000,
    "torn": json.dumps(facts_file())[:200],
    "a large number": '{"schema": "doctor-facts/1", "captured_ns": ' + "9" * 6000 + "}",
    "NUL": "\0" * 4096,
}


@pytest.mark.parametrize("bad", BAD)
def test_one_bad_file_among_those_of_good_nodes_costs_itself(bad: str, tmp_path: Path) -> None:
    for host, version in (("n1", "0.14.0"), ("n2", "0.14.0"), ("n3", "0.16.0")):
        states = {"packages": {"status": "ok", "value": {"distributions": {"trl": {**TRL, "version": version}}}}}
        clock = {"offset_s": float(host[1:]), "error_s": 0.1}
        (tmp_path / f"{host}.json").write_text(json.dumps(facts_file(host=host, facts=states, clock=clock)))
    good = json.loads(run("check", "--from", str(tmp_path), "--format", "json").output)
    (tmp_path / "bad.json").write_text(BAD[bad])
    done = run("check", "--from", str(tmp_path), "--format", "json")
    told = json.loads(done.stdout)
    assert told["crashed"] == []
    assert {each["id"] for each in good["findings"]} <= {each["id"] for each in told["findings"]}
    done.stdout.encode("utf-8")


MEASURED = """
import resource, sys
from click.testing import CliRunner
from doctor.cli.app import app
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
done = CliRunner().invoke(app, ["postmortem", *sys.argv[1:]])
assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
assert "Traceback" not in done.output, done.output
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def _zeros_xz(path: Path) -> None:
    path.write_bytes(lzma.compress(b"\0" * (64 << 20)) * 8)


def _lines_xz(path: Path) -> None:
    path.write_bytes(lzma.compress(b"\n" * (64 << 20)) * 8)


def _one_line(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(300):
            file.write(b"x" * (1 << 20))


def _newlines(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(200):
            file.write(b"\n" * (1 << 20))


def _chain_of_names(path: Path) -> None:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for _ in range(3000):
            member = tarfile.TarInfo("a")
            member.type, member.size = tarfile.GNUTYPE_LONGNAME, 200
            tar.addfile(member, io.BytesIO(b"n" * 200))


def _long_name(path: Path) -> None:
    member = tarfile.TarInfo("a")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 600 << 20
    path.write_bytes(member.tobuf(tarfile.GNU_FORMAT))
    os.truncate(path, 600 << 20)


def _shared_lists(path: Path) -> None:
    import pickle

    shared: object = ["x"]
    for _ in range(60):
        shared = [shared, shared]
    entry = {"process_group": ("0", shared), "collective_seq_id": 3, "state": "scheduled", "frames": shared}
    path.write_bytes(pickle.dumps({"version": "2.4", "entries": [entry], "pg_status": {"0": {}}}, protocol=2))


def _long_bytes(path: Path) -> None:
    path.write_bytes(b"\x80\x04}\x8c\x07entriesq\x00B" + (1 << 31).to_bytes(4, "little") + b"x" * 100)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.log.xz", _zeros_xz), ("b.log.xz", _lines_xz), ("a.log", _one_line), ("b.log", _newlines),
        ("a.tar", _chain_of_names), ("b.tar", _long_name), ("nccl_trace_rank_0", _shared_lists),
        ("nccl_trace_rank_1", _long_bytes),
    ],
)  # fmt: skip
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_unpacks_to_much_takes_little_memory(name: str, make, tmp_path: Path) -> None:
    path = tmp_path / name
    make(path)
    argv = [sys.executable, "-c", MEASURED, str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) < 300  # MB; 80 of them are the doctor


@pytest.mark.parametrize("command", ["report", "postmortem"])
@pytest.mark.parametrize(("code", "accused"), [(0, False), (1, True), (137, True)])
def test_a_program_that_ended_well_may_print_nothing(command: str, code: int, accused: bool, tmp_path: Path) -> None:
    for folder in ("gpu", "logs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gpu/h.csv").write_bytes(DAMAGED["as written"][0])
    (tmp_path / "logs/console.log").touch()
    (tmp_path / "run.json").write_text(json.dumps({"schema": "doctor-run/1", "argv": ["a"], "exit": code}))
    told = json.loads(run(command, str(tmp_path), "--format", "json").stdout)
    assert any(each["id"].startswith("UNK") for each in told["findings"]) is accused
    assert told["verdict"] == "unknown"  # nothing was judged, so it is not healthy either


#: what JSON may hold where another kind of value is meant
ODD = (None, True, 3, 2.5, float("nan"), "x", "", "\ud800", "\0", [], [3], [[]], {}, {"a": 1})


@for_each(
    "key, odd",
    [
        (f"{key}={odd!r}", (key, odd))
        for key in ("outputs", "execution_count", "cell_type", "text", "traceback", "output_type")
        for odd in ODD
    ],
    group=lambda case: case.partition("=")[0],
)
def test_a_notebook_with_a_value_of_another_kind(key: str, odd: object, tmp_path: Path) -> None:
    raised = {"output_type": "error", "traceback": ["Traceback (most recent call last):\n", "ValueError: \ud800"]}
    printed = {"output_type": "stream", "text": ["{'loss': 0.5}\n"]}
    cell = {"cell_type": "code", "execution_count": 1, "outputs": [printed, raised]}
    for each in (cell, printed, raised):
        if key in each:
            each[key] = odd
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [cell, {"cell_type": "code", "outputs": [raised]}]}))
    run("postmortem", str(path))


def test_an_error_text_that_is_no_utf_8() -> None:
    run("explain", "RuntimeError: \udcff\udca3 CUDA error: device-side assert triggered")


JOURNAL = {
    "schema": "doctor-journal/1", "state": "done", "started_ns": 1, "cwd": "/x", "group": "g",
    "plan": {"problem": "TRL2205/removed"},
    "steps": [{
        "kind": "file", "state": "done", "path": "a.yaml", "mode": 420, "temporary": "a.tmp", "in_place": False,
        "before": "", "after": "0", "backup": "0.before", "target": "0.after",
    }],
}  # fmt: skip


def _changed() -> Iterator[tuple[str, object]]:
    """The journal with one value that is another, at every place."""
    for odd in ODD:
        for key in JOURNAL:
            yield f"{key}={odd!r}", {**JOURNAL, key: odd}
        yield f"problem={odd!r}", {**JOURNAL, "plan": {"problem": odd}}
        for key in JOURNAL["steps"][0]:
            yield f"step.{key}={odd!r}", {**JOURNAL, "steps": [{**JOURNAL["steps"][0], key: odd}]}
    yield "outside", {**JOURNAL, "steps": [{**JOURNAL["steps"][0], "backup": "../../../a"}]}
    yield "a list", [JOURNAL]


@pytest.mark.process
@pytest.mark.parametrize("words", [("--all", "--undo"), ("TRL2205/removed", "--undo"), ("TRL2205/removed", "--apply")])
def test_a_damaged_journal_takes_nothing_back(words: tuple[str, ...], tmp_path: Path, monkeypatch) -> None:
    from doctor.base.state import state_folder
    from doctor.diagnosis import diagnose

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    # the machine is judged once: nothing but the journal differs from one time to the next
    judge, judged = diagnose.judge, []

    def judge_once(*given) -> object:
        if not judged:
            judged.append(judge(*given))
        return judged[0]

    monkeypatch.setattr(diagnose, "judge", judge_once)
    (tmp_path / "a.yaml").write_text("bf16: true\n")
    kept = state_folder(tmp_path) / "journal" / "1-TRL2205.removed"
    kept.mkdir(parents=True)
    (kept / "0.before").write_text("stolen")
    for name, data in _changed():
        (kept / "journal.json").write_text(json.dumps(data))
        done = CliRunner().invoke(app, ["fix", *words])
        assert done.exception is None or isinstance(done.exception, SystemExit), (name, done.exception)
        assert (tmp_path / "a.yaml").read_text() == "bf16: true\n", name


@for_each(
    "place, odd",
    [
        (f"{place}={odd!r}", (place, odd))
        for place in ("line", "t_ns", "code", "frames", "chain", "values", "captured_ns", "process")
        for odd in (*ODD, float("inf"), 10**400)
    ],
    group=lambda case: case.partition("=")[0],
)
def test_a_capsule_with_a_value_of_another_kind(place: str, odd: object, tmp_path: Path) -> None:
    frame = {"file": "a.py", "line": 3, "function": "f", "lines": ["x = y[3]"], "values": [["y", {"type": "list"}]]}
    link = {"type": "IndexError", "message": "list index out of range", "relation": "raised", "frames": [frame]}
    failure = {"source": "excepthook", "ends": True, "thread": None, "code": None, "t_ns": 1, "chain": [link]}
    data = {"schema": "doctor-capsule/1", "captured_ns": 1, "seconds": 0.1, "process": {"pid": 7}, "stands": None,
            "failures": [failure], "configs": [], "modules": [], "trouble": []}  # fmt: skip
    for each in (frame, link, failure, data):
        if place in each:
            each[place] = odd
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data).replace("1" + "0" * 400, "9" * 400))
    run("postmortem", "--capsule", str(path))


def test_a_capsule_nested_without_end(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("[" * 100_000)
    assert "nested" in run("postmortem", "--capsule", str(path)).output


@pytest.mark.parametrize("words", [["explain"], ["postmortem"], ["hang"], ["report"], ["check", "--from"]])
def test_a_name_that_is_too_long_for_a_path_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.cli.app import run

    assert run([*words, "x9" * 2000]) == 2
    assert "bug in the doctor" not in capsys.readouterr().err


@pytest.mark.parametrize("shape", [0.5, None, "2", {"a": 1}, [2, 3]])
def test_a_tensor_of_a_damaged_shape_is_shown(shape: object) -> None:
    from doctor.logs.capsules.held import shown

    assert shown({"tensor": True, "dtype": "torch.float32", "shape": shape}).endswith("]")


def test_a_number_of_ten_thousand_digits_in_a_folder_of_mlflow_is_left_out(tmp_path: Path) -> None:
    from doctor.logs.metrics.trackers import _mlflow_points

    (tmp_path / "loss").write_text(f"{'9' * 10_000} 0.5 1\n1700000000000 0.5 {'9' * 10_000}\n1700000000000 0.5 2\n")
    assert [each[0] for each in _mlflow_points(tmp_path)] == [2]
