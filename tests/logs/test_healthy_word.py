"""\"Healthy\" is said only where the end of the run was seen and something was judged; never of what was not read."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import pickle
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.cli.postmortem import command
from doctor.diagnosis.report import as_dict
from doctor.logs.failures.ends import end_of
from doctor.logs.gathered import LogNotReadable
from doctor.logs.postmortem import examine
from doctor.logs.read.layouts import NoLogs
from doctor.render.words import WORDS, verdict_of
from tests.prepared import prepared_once

PREPARED = prepared_once()
STEPS = "".join(f"{{'loss': 0.{9 - each}, 'reward': 0.{each}5, 'epoch': {each}}}\n" for each in range(5))
WELL = f"starting training with transformers\n{STEPS}{{'train_runtime': 12.5, 'train_loss': 0.5}}\n"


def verdict(*paths: Path) -> str:
    return examine([str(each) for each in paths], prepared=PREPARED).diagnosis.verdict or ""


def test_a_run_whose_end_is_in_the_log_is_healthy(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(WELL)
    (tmp_path / "stderr.log").write_text("")
    assert verdict(tmp_path / "train.log") == verdict(tmp_path) == "healthy"


def test_the_end_that_a_program_says_in_its_last_line_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"starting training with transformers\n{STEPS}Done.\n")
    result = examine([str(tmp_path / "train.log")], prepared=PREPARED)
    assert end_of(result.case) == "train.log:7"
    assert result.diagnosis.verdict == "healthy"


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 4096, b"\n" * 9, b" \t\r\n", b"\xef\xbb\xbf", b"\xff\xfe", bytes(range(256)) * 20, b"hello\n", b"{}\n",
     b"\x1f\x8b", gzip.compress(b"", mtime=0), gzip.compress(WELL.encode(), mtime=0)[:-30], lzma.compress(WELL.encode())[:-40],
     b"\x80\x04}entries", b"PK\x03\x04", STEPS.encode(), b"INFO: Application startup complete.\n"],
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["train.log", "nccl_trace_rank_0", "rollout.jsonl", "x.json", "a.csv", "log.gz", "o.txt"]
)
def test_what_shows_no_end_or_cannot_be_read_is_not(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    try:
        assert verdict(path) != "healthy"
        assert verdict(tmp_path) != "healthy"
    except (LogNotReadable, NoLogs):
        pass


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from(["train.log", "nccl_trace_rank_0", "1.jsonl", "o.zst", "log.xz"]))
def test_bytes_alone_are_never_healthy(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with suppress(LogNotReadable, NoLogs):
        assert verdict(path) != "healthy"


@pytest.mark.parametrize("broken", ["gz", "dump", "tar", "zip", "dangling", "mode"])
def test_beside_something_that_cannot_be_read_a_run_is_not_healthy(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "train.log").write_text(WELL)
    if broken == "gz":
        (folder / "rank1.log.gz").write_bytes(gzip.compress(WELL.encode() * 50, mtime=0)[:-60])
    elif broken == "dump":
        (folder / "nccl_trace_rank_0").write_bytes(pickle.dumps({"entries": [], "version": len}, protocol=2))
    elif broken == "tar":
        with tarfile.open(tmp_path / "logs.tar", "w") as tar:
            tar.add(folder / "train.log", "train.log")
            tar.add(folder / "train.log", "other.log")
        folder = tmp_path / "logs.tar"
        folder.write_bytes(folder.read_bytes()[:1700])  # in the middle of the first log
    elif broken == "zip":
        with zipfile.ZipFile(tmp_path / "logs.zip", "w") as packed:
            packed.write(folder / "train.log", "train.log")
            packed.writestr("other.log", WELL)
        folder = tmp_path / "logs.zip"
        data = bytearray(folder.read_bytes())
        data[data.rfind(b"train_runtime")] ^= 1  # the checksum of the second file is wrong
        folder.write_bytes(data)
    elif broken == "dangling":
        (folder / "rank1.log").symlink_to(tmp_path / "gone.log")
    elif os.geteuid() == 0:
        pytest.skip("root reads everything")
    else:
        (folder / "rank1.log").write_text(WELL)
        (folder / "rank1.log").chmod(0)
    assert verdict(folder) != "healthy"


@pytest.mark.parametrize("kept", range(64, 4100, 192))
def test_a_tar_that_breaks_off_anywhere_is_not_healthy_and_keeps_what_came_before(tmp_path: Path, kept: int) -> None:
    source, path = tmp_path / "a.log", tmp_path / "logs.tar"
    source.write_text(WELL)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for each in ("train.log", "b.log", "c.log"):
            tar.add(source, each)
    path.write_bytes(path.read_bytes()[:kept])
    if 257 < kept <= 512:  # a tar by its first bytes, and nothing of a log in it
        with pytest.raises(LogNotReadable, match=r"logs\.tar` cannot be unpacked"):
            verdict(path)
        return
    result = examine([str(path)], prepared=PREPARED)
    whole = kept >= 3 * 1024 + 512  # three logs and a block of zeros, without which more may have followed
    assert (result.diagnosis.verdict == "healthy") is whole
    begun = min(3, (kept + 511) // 1024)
    assert len(result.diagnosis.target.files) == max(begun, 1)


def test_a_failure_that_the_user_ignores_leaves_no_healthy_run(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    f()\nRuntimeError: x\n'
    )
    found = json.loads(CliRunner().invoke(command, [str(path), "--format", "json"]).output)
    ignored = [word for each in found["findings"] for word in ("--ignore", each["id"])]
    again = json.loads(CliRunner().invoke(command, [str(path), "--format", "json", *ignored]).output)
    assert (again["findings"], again["verdict"]) == ([], "unknown")


@pytest.mark.parametrize(("language", "word"), [("en", "Healthy"), ("zh", "正常")])
def test_the_words_of_an_open_end_are_not_those_of_health(tmp_path: Path, language: str, word: str) -> None:
    path = tmp_path / "train.log"
    path.write_text('INFO:     Application startup complete.\nINFO:  10.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK\n')
    for form in ("text", "markdown", "html"):
        done = CliRunner().invoke(command, [str(path), "--lang", language, "--format", form])
        assert done.exit_code == 0
        assert word not in done.output


@pytest.mark.parametrize(
    ("metric", "seen"),
    [
        ("sampling/sampling_logp_difference/mean", True), ("rollout_corr/kl", True), ("async/staleness_mean", False),
        ("my_own/number", False),
    ],
)  # fmt: skip
def test_health_names_that_sampler_and_learner_were_not_compared(tmp_path: Path, metric: str, seen: bool) -> None:
    path = tmp_path / "train.log"
    path.write_text(WELL.replace("'epoch'", f"'{metric}': 0.01, 'epoch'"))
    told = CliRunner().invoke(command, [str(path), "--lang", "en"]).output
    assert "Healthy" in told
    assert ("sampler = learner" not in told) == seen
    assert ("my_own/number" in told) == (metric == "my_own/number"), "no rule judges it"


def test_a_training_that_tells_no_metric_is_not_called_healthy(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("starting training with transformers\nTraining completed\n")
    report = as_dict(examine([str(path)], prepared=PREPARED).diagnosis)
    assert (report["verdict"], report["judged"]["not_seen"]) == ("unknown", ["metrics"])
    for words, said in ((WORDS["en"], "these logs have no training metric"), (WORDS["zh"], "不含训练指标")):
        assert said in verdict_of(report, words)
    path.write_text(f"starting training with transformers\n{STEPS}Training completed\n")
    assert verdict(path) == "healthy"


@pytest.mark.parametrize(
    "line",
    ["accuracy 12/100", "exact match after training: 0.250", "final accuracy on held-out rows = 3.5 %", "21:50 INFO solved 1/20"],
)  # fmt: skip
def test_a_run_whose_own_test_fails_is_not_healthy(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.log").write_text(f"{WELL}{line}\n")
    report = as_dict(examine([str(tmp_path / "train.log")], prepared=PREPARED).diagnosis)
    assert report["verdict"] != "healthy"
    assert verdict_of(report, WORDS["en"]) == WORDS["en"]["verdict_unmet"]


@pytest.mark.parametrize(
    "line", ["accuracy 92/100", "accuracy before training 0.02", "accuracy 1/2", "{'eval_accuracy': 0.1}", "step 3 accuracy 0.1"]
)  # fmt: skip
def test_a_test_of_another_moment_says_nothing_of_the_end(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.log").write_text(f"{WELL}{line}\n")
    assert verdict(tmp_path / "train.log") == "healthy"
