"""Folders as launchers leave them."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.read.layouts import NoLogs, elastic_error_lines, looks_like_markdown, markdown_lines, sources


def _tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    return root


def _told(root: Path) -> dict[str, tuple[str, int | None]]:
    return {Path(each.path).relative_to(root).as_posix(): (each.label, each.rank) for each in sources([str(root)])}


def test_torchrun_tree(tmp_path: Path) -> None:
    _tree(tmp_path, "none_a/attempt_0/0/stdout.log", "none_a/attempt_0/0/stderr.log", "none_a/attempt_0/1/stderr.log",
          "none_a/attempt_0/1/error.json")  # fmt: skip
    told = _told(tmp_path)
    assert told["none_a/attempt_0/1/error.json"] == ("rank 1", 1)
    assert told["none_a/attempt_0/0/stdout.log"] == ("rank 0", 0)
    assert len(told) == 4


def test_slurm_tasks_need_siblings(tmp_path: Path) -> None:
    _tree(tmp_path, "train-881204-0.out", "train-881204-1.out", "single-881205-7.out")
    assert _told(tmp_path) == {
        "train-881204-0.out": ("rank 0", 0), "train-881204-1.out": ("rank 1", 1), "single-881205-7.out": ("", None),
    }  # fmt: skip


def test_one_file_a_rank_and_what_is_no_log(tmp_path: Path) -> None:
    _tree(tmp_path, "rank_0.log", "rank_1.log.gz", "requirements.txt", "model.safetensors", "events.out.tfevents.1.log")
    assert _told(tmp_path) == {"rank_0.log": ("rank 0", 0), "rank_1.log.gz": ("rank 1", 1)}


def test_ray_session(tmp_path: Path) -> None:
    worker = "logs/worker-" + "ab" * 28 + "-01000000-31484.err"
    _tree(tmp_path, worker, "logs/raylet.out", "logs/gcs_server.out")
    assert _told(tmp_path)[worker] == ("pid=31484", None)
    assert _told(tmp_path)["logs/raylet.out"] == ("raylet", None)


def test_trinity_actors_and_run_folder(tmp_path: Path) -> None:
    _tree(tmp_path / "job", "log/explorer.log", "log/trainer.log")
    assert {each.label for each in sources([str(tmp_path / "job")])} == {"explorer", "trainer"}
    run = _tree(tmp_path / "run", "run.json", "logs/console.log", "logs/rank0.log", "logs/rank10.log", "logs/rank2.log")
    assert [(each.rank, each.role) for each in sources([str(run)])] == [
        (0, "rank"), (2, "rank"), (10, "rank"), (None, "console"),
    ]  # fmt: skip


def test_a_single_file_named_after_a_rank_is_not_its_log(tmp_path: Path) -> None:
    _tree(tmp_path, "rank1-crash.log")
    assert sources([str(tmp_path / "rank1-crash.log")])[0].rank is None


def test_globs_and_files_given_twice(tmp_path: Path) -> None:
    _tree(tmp_path, "a.log", "b.log", "c.txt")
    found = sources([str(tmp_path / "*.log"), str(tmp_path / "a.log"), "-"])
    assert [Path(each.path).name for each in found] == ["a.log", "b.log", "-"]


@pytest.mark.parametrize(("name", "words"), [("gone.log", "does not exist"), ("*.nothing", "matches nothing")])
def test_nothing_there_is_said(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(NoLogs, match=words):
        sources([str(tmp_path / name)])


def test_a_folder_without_logs_is_said(tmp_path: Path) -> None:
    _tree(tmp_path, "model.bin")
    with pytest.raises(NoLogs, match="holds no log"):
        sources([str(tmp_path)])


ISSUE = [
    "### Describe the bug",
    "it dies",
    "```",
    "Traceback (most recent call last):",
    "```",
    "thanks",
    "```sh",
    "ls",
    "```",
]


def test_markdown_gives_what_is_fenced_and_keeps_numbers() -> None:
    assert looks_like_markdown(ISSUE)
    lines = [(number, text) for number, text in markdown_lines(enumerate(ISSUE, 1)) if text]
    assert lines == [(4, "Traceback (most recent call last):"), (8, "ls")]


def test_text_without_fences_is_passed_on() -> None:
    assert list(markdown_lines([(1, "# title"), (2, "boom")])) == [(1, "# title"), (2, "boom")]


def test_elastic_error_file() -> None:
    text = (
        '{"message": {"message": "E: x", "extraInfo": {"py_callstack": "Traceback (most recent call last):\\nE: x"}}}'
    )
    assert elastic_error_lines(text) == ["Traceback (most recent call last):", "E: x"]
    assert elastic_error_lines('{"loss": 1}') is None
    assert elastic_error_lines("no json") is None
