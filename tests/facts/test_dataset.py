"""Local datasets: figures over their rows, and where a row is broken."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.base.evidence import Observed
from doctor.base.fact import Context, Unavailable
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.readers.files import dataset as dataset_fact
from doctor.readers.files import dataset_files

PARQUET = Path(__file__).parents[1] / "samples" / "datasets" / "train.parquet"


def collected(value: Any, cwd: Path) -> Dataset:
    training = Training(dataset=Observed.written("data_files", value), dataset_processed=False)
    return dataset_fact.collect(Context(("python", "t.py"), cwd=cwd), None, training, None, None)


def jsonl(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in rows))
    return path


def test_figures_over_rows(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "d.jsonl",
        {"prompt": "abc", "answer": "1"},
        {"prompt": "  ", "answer": "1"},
        {"prompt": "a" * 100},
        "",
        {"prompt": None, "answer": "2"},
        {"prompt": "abcde", "answer": "1"},
    )
    found = collected("d.jsonl", tmp_path)
    assert (found.rows, found.rows_read, found.columns) == (5, 5, ("prompt", "answer"))
    assert found.missing_in == {"answer": 1}
    assert (found.prompt_kind, found.empty_prompts, found.empty_prompt_count) == ("text", (2, 5), 2)
    assert (found.prompt_chars_median, found.prompt_chars_max, found.longest_row) == (3, 100, 3)
    assert not found.processed


def test_conversations(tmp_path: Path) -> None:
    turn = {"role": "user", "content": "four"}
    parts = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]}
    rows = [
        {"prompt": [turn, turn]},
        {"prompt": []},
        {"prompt": [parts]},
        {"prompt": [{"role": "user", "content": ""}]},
    ]
    found = collected(str(jsonl(tmp_path / "d.jsonl", *rows)), tmp_path)
    assert (found.prompt_kind, found.empty_prompts, found.longest_row) == ("conversation", (2, 4), 3)


def test_mixed_and_odd_prompts(tmp_path: Path) -> None:
    found = collected(str(jsonl(tmp_path / "d.jsonl", {"prompt": 3}, {"prompt": "a"})), tmp_path)
    assert (found.prompt_kind, found.prompt_chars_max) == ("other", 1)


def test_no_prompt_column(tmp_path: Path) -> None:
    found = collected(str(jsonl(tmp_path / "d.jsonl", {"question": "a"})), tmp_path)
    assert (found.columns, found.prompt_kind, found.prompt_chars_max) == (("question",), None, None)


def test_an_array_and_gzip_and_csv(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"prompt": "x"}, {"prompt": ""}], indent=1))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "y"}\n'))
    (tmp_path / "c.csv").write_text('prompt,answer\n"a\nb",1\n,2\n')
    array = collected("a.json", tmp_path)
    assert (array.rows, array.empty_prompts) == (2, (2,))
    assert collected("b.jsonl.gz", tmp_path).rows == 1
    table = collected("c.csv", tmp_path)
    assert (table.rows, table.columns, table.empty_prompts) == (2, ("prompt", "answer"), (4,))


def test_parquet_by_its_footer(tmp_path: Path) -> None:
    found = collected(str(PARQUET), tmp_path)
    assert (found.rows, found.rows_read) == (7, 0)
    assert found.columns == ("data_source", "prompt", "reward_model", "index")  # nested ones count once
    assert found.extremes == {"data_source": ("gsm8k", "gsm8k")}


@pytest.mark.parametrize(
    "value",
    ["data", ["data/train.jsonl"], {"train": "data/train.jsonl", "test": "data/test.jsonl"}, "data/tr*.jsonl"],
)
def test_ways_to_name_files(tmp_path: Path, value: Any) -> None:
    (tmp_path / "data").mkdir()
    jsonl(tmp_path / "data" / "train.jsonl", {"prompt": "a"})
    jsonl(tmp_path / "data" / "test.jsonl", {"prompt": "a"}, {"prompt": "b"})
    assert collected(value, tmp_path).rows == 1


@pytest.mark.parametrize(
    "value",
    ["trl-lib/tldr", "hf://datasets/x/d.jsonl", "https://user:pw12345678@host/d.jsonl", "d.arrow", "", [], {}, 3, None],
)
def test_what_is_no_local_file(tmp_path: Path, value: Any) -> None:
    with pytest.raises(Unavailable) as caught:
        collected(value, tmp_path)
    assert "pw12345678" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("d.jsonl", b'{"prompt": "a"}\n{"prompt": "b"\n', 2, "not JSON"),
        ("d.jsonl", b'{"prompt": "a"}\n[1]\n', 2, "not a JSON object"),
        ("d.jsonl", b'{"prompt": "a"}\n{"prompt": "\xff"}\n', 2, "not UTF-8"),
        ("d.json", b'[{"prompt": "a"},\n {"prompt"}]', 2, "not JSON"),
        ("d.csv", b"a,b\n1,2,3\n", 2, "3 cells"),
        ("d.jsonl.gz", b"no gzip at all", None, "cannot be read"),
        ("d.jsonl.gz", gzip.compress(b'{"prompt": "a"}\n' * 2000)[:-12], None, "cannot be read"),
        ("d.parquet", b"PAR1 too short", None, "not a parquet file"),
    ],
)
def test_broken_files_say_where(tmp_path: Path, name: str, content: bytes, line: int | None, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = collected(name, tmp_path)
    assert found.broken is not None
    assert found.broken.place.line == line
    assert message in found.broken.message
    assert found.rows is None


def test_one_object_over_several_lines_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text('{\n "data": []\n}\n')
    with pytest.raises(Unavailable, match="one JSON object"):
        collected("d.json", tmp_path)


def test_large_files_are_read_in_part(tmp_path: Path) -> None:
    line = json.dumps({"prompt": "x" * 1000}).encode() + b"\n"
    (tmp_path / "d.jsonl").write_bytes(line * (dataset_files.LIMIT_BYTES // len(line) + 1000))
    started = time.monotonic()
    found = collected("d.jsonl", tmp_path)
    assert found.rows is None
    assert found.rows_read > 1000
    assert time.monotonic() - started < 20  # a hang would be longer; the limit itself is 1.5 s


def test_fifos_and_loops_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "d.jsonl")
    (tmp_path / "e.jsonl").symlink_to(tmp_path / "e.jsonl")
    for name in ("d.jsonl", "e.jsonl"):
        with pytest.raises(Unavailable):
            collected(name, tmp_path)


def test_whose_dataset_it_is(tmp_path: Path) -> None:
    jsonl(tmp_path / "d.jsonl", {"question": "abc"})
    context = Context(("x",), cwd=tmp_path)
    overrides = {
        "data.train_files": Observed.written("t", "d.jsonl"),
        "data.prompt_key": Observed.written("k", "question"),
    }
    verl = dataset_fact.collect(context, None, None, VerlConfig("m", overrides=overrides), None)
    assert (verl.prompt_column, verl.prompt_chars_max) == ("question", 3)
    key = "buffer.explorer_input.taskset"
    taskset = {f"{key}.path": Observed.written("p", "."), f"{key}.format.prompt_key": Observed.written("k", "question")}
    trinity = dataset_fact.collect(context, None, None, None, TrinityConfig("c", settings=taskset))
    assert trinity.prompt_chars_max == 3


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=80
)
@given(st.binary(max_size=200), st.sampled_from(["d.jsonl", "d.json", "d.csv", "d.parquet", "d.jsonl.gz"]))
def test_random_bytes(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    try:
        assert isinstance(collected(name, tmp_path), Dataset)
    except Unavailable:
        assert name == "d.json" or content.lstrip().startswith(b"{")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=120
)
@given(st.integers(0, 1488), st.integers(0, 255))
def test_damaged_parquet(tmp_path: Path, position: int, byte: int) -> None:
    content = bytearray(PARQUET.read_bytes())
    content[position] = byte
    (tmp_path / "d.parquet").write_bytes(content)
    assert isinstance(collected("d.parquet", tmp_path), Dataset)
