"""Each layout is read as its framework writes it; what cannot be read is said."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from doctor.logs.artifacts import is_artifact, read
from doctor.logs.rollouts import jsonl, sqlite
from doctor.logs.rollouts.judged import dumps, kind_of
from doctor.logs.rollouts.parquet import Reader as Parquet

from . import dumps as made

SAMPLES = Path(__file__).parent.parent / "samples" / "rollouts"
ALL = made.STEPS * made.PROMPTS * made.TRIES


def test_verl(tmp_path: Path) -> None:
    folder = made.verl(tmp_path / "rollouts", acc=True, pred="7", format_reward=None)
    samples = list(jsonl.Reader(str(folder / "3.jsonl")))
    assert len(samples) == made.PROMPTS * made.TRIES
    assert {each.step for each in samples} == {3}
    assert len({each.group for each in samples}) == made.PROMPTS
    assert samples[5].line == 6
    assert samples[0].parts["acc"] == 1
    assert math.isnan(samples[0].parts["format_reward"])
    assert "pred" not in samples[0].parts


def test_verl_since_0_9_tells_the_prompt_by_uid(tmp_path: Path) -> None:
    path = tmp_path / "4.jsonl"
    keys = [f"{prompt}_{attempt}_0" for prompt in "ab" for attempt in range(3)]
    path.write_text("".join(json.dumps({"input": "q", "output": "a", "score": 1, "uid": each}) + "\n" for each in keys))
    assert [each.group for each in jsonl.Reader(str(path))] == ["a"] * 3 + ["b"] * 3
    assert [each.step for each in jsonl.Reader(str(path))] == [4] * 6, "by the file's name"


def test_files_of_a_folder_are_read_in_order_of_step(tmp_path: Path) -> None:
    folder = made.verl(tmp_path, count=12)
    (dump,) = dumps((path, kind_of(path)) for path in sorted(folder.iterdir()))
    assert [Path(each).stem for each in dump.files] == [str(step) for step in range(1, 13)]


@pytest.mark.parametrize("end", [b"", b'{"input": "torn', b"not json\n", b"\xff\xfe\n", b"[1, 2]\n"])
def test_a_bad_line_costs_only_itself(tmp_path: Path, end: bytes) -> None:
    path = made.verl(tmp_path, count=1) / "1.jsonl"
    path.write_bytes(path.read_bytes() + end)
    reader = jsonl.Reader(str(path))
    assert len(list(reader)) == made.PROMPTS * made.TRIES
    assert reader.unread == bool(end)


def test_a_line_longer_than_any_answer_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.verl(tmp_path, count=1) / "1.jsonl"
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 100_000)
    long = json.dumps({"input": "q", "output": "x" * 200_000, "score": 1})
    path.write_text(f"{long}\n{path.read_text()}{long}")
    reader = jsonl.Reader(str(path))
    assert [each.line for each in reader] == list(range(2, 18))
    assert reader.unread == 2


def test_packed_lines(tmp_path: Path) -> None:
    plain = made.trinity_lines(tmp_path / "explorer_output.jsonl")
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert kind_of(packed) == "trinity"
    assert len(list(jsonl.Reader(str(packed)))) == ALL


def test_trinity_lines(tmp_path: Path) -> None:
    path = made.trinity_lines(tmp_path / "explorer_output.jsonl", truncate_status="response_truncated")
    first = next(iter(jsonl.Reader(str(path))))
    assert (first.step, first.group, first.run, first.truncated) == (1, (1, 0), 0, True)
    assert first.tokens == 62
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}]
    path = made.trinity_lines(tmp_path / "talks.jsonl", response_text=None, messages=messages)
    assert next(iter(jsonl.Reader(str(path)))).text == "a"


@pytest.mark.parametrize("version", sorted(made.SCHEMAS))
def test_trinity_databases(tmp_path: Path, version: str) -> None:
    path = made.trinity_database(tmp_path / "explorer_output.db", version)
    assert kind_of(path) == "trinity"
    reader = sqlite.Reader(str(path))
    samples = list(reader)
    assert len(samples) == ALL
    assert sum(each.reward or 0 for each in samples) > 50
    told = version in ("0.1.0", "0.3.0")
    assert (samples[0].text is not None) is told
    assert samples[-1].step == (None if told else 12)
    assert reader.unread == (0 if told else ALL)
    lengths = [each.tokens for each in samples if each.tokens is not None]
    assert lengths == ([] if told else [61] * (ALL // 8)), "from the header of the tensors, one row in eight"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["explorer_output.db"]


def test_trl_as_it_really_writes() -> None:
    files = sorted((SAMPLES / "trl-greedy" / "completions").iterdir())
    samples = [each for file in files for each in Parquet(str(file))]
    assert [each.step for each in samples] == [step for step in range(1, 6) for _ in range(4)]
    assert set(samples[0].parts) == {"reward_len"}
    assert samples[0].deviates is False
    talk = next(iter(Parquet(str(SAMPLES / "trl-chat" / "completions" / "completions_00001.parquet"))))
    assert talk.text
    assert "user" not in talk.text


def test_parquet_without_its_reader_is_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    found = read([str(SAMPLES / "trl-greedy")])
    assert not found.findings
    (skip,) = found.skipped
    assert "needs pyarrow" in skip.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("completions_00001.parquet", b"PAR1 cut off"),
        ("explorer_output.db", b"SQLite format 3\0" + b"\0" * 2000),
    ],
)
def test_a_damaged_file_is_skipped_with_a_reason(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "buffer" / name
    path.parent.mkdir()
    path.write_bytes(content)
    found = read([str(tmp_path)])
    assert not found.findings
    assert not found.crashed
    (skip,) = found.skipped
    assert name in skip.reason


@pytest.mark.parametrize(
    "text",
    [
        '{"prompt": "2+2", "answer": "4"}\n',  # a dataset
        '{"input": "2+2", "output": "4"}\n',  # another one
        '{"eid": 7, "text": "x"}\n',
        "[rank0]: Traceback\n",
        "",
    ],
)
def test_other_files_are_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "1.jsonl"
    path.write_text(text)
    (tmp_path / "train.jsonl").write_text('{"input": "2+2", "output": "4", "score": 1}\n')  # a dataset with scores
    assert not is_artifact(str(path))
    assert read([str(tmp_path)]).files == ()


def test_skyrl_dumps_evaluations_with_a_reward_a_token(tmp_path: Path) -> None:
    path = tmp_path / "global_step_40_evals" / "openai_gsm8k.jsonl"
    path.parent.mkdir()
    rows = [
        {"input_prompt": f"q{at}", "output_response": "12", "score": score, "stop_reason": "stop", "env_class": "gsm8k"}
        for at, score in enumerate((1.0, [0.0, 0.25, 0.5]))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kind_of(path) == "skyrl"
    assert [(each.step, each.reward) for each in jsonl.Reader(str(path))] == [(40, 1.0), (40, 0.75)]
    (dump,) = dumps([(path, "skyrl")])
    assert dump.of_evaluation


def test_an_answer_may_be_called_a_response(tmp_path: Path) -> None:
    path = tmp_path / "train_rollouts.jsonl"
    path.write_text(json.dumps({"step": 7, "prompt": "1 + 1 =", "response": "2", "reward": 1.0}) + "\n")
    assert [(each.step, each.text, each.reward) for each in jsonl.Reader(str(path))] == [(7, "2", 1.0)]
    path.write_text(json.dumps({"prompt": "1 + 1 =", "response": "2", "reward": 1.0}) + "\n")
    assert kind_of(path) == "", "a table of preferences has no step"
