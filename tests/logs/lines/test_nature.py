"""What is given as a log and is none: it is said to be none, and a notebook is read."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from doctor.diagnosis.report import as_dict
from doctor.logs.lines.nature import nature_of
from doctor.logs.postmortem import examine
from doctor.logs.read.layouts import NoLogs
from doctor.render.words import WORDS, verdict_of
from tests.prepared import prepared_once

PREPARED = prepared_once()
WANDB = """2025-12-26 22:15:14,232 INFO    MainThread:188164 [wandb_run.py:_restore():2474] restore done
2025-12-26 22:15:15,871 INFO    MainThread:188164 [wandb_run.py:_footer_sync_info():3862] logging synced files
"""
CORE = """{"time":"2025-03-20T06:57:43.759604591-04:00","level":"INFO","msg":"sender: closed","stream_id":"a1"}
{"time":"2025-03-20T06:57:43.761440227-04:00","level":"INFO","msg":"stream: closed","id":"a1"}
"""
NOISE = random.Random(7).randbytes(20_000)  # noqa: S311 - bytes that are no text
#: a message of NCCL's watchdog as a terminal of 85 columns gave it, https://github.com/om-ai-lab/VLM-R1/issues/109
_WATCHDOG = (
    "[rank2]:[E303 15:22:17.210116508 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group "
    "watchdog thread terminated with exception: [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum="
    "3399, OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=32, Timeout(ms)=1800000) ran for 1800062 milliseconds before "
    "timing out. "
)


def _cut(width: int, pad: str) -> bytes:
    lines = [_WATCHDOG[at : at + width] for at in range(0, len(_WATCHDOG), width)]
    return "".join(f"{each.ljust(width) if pad else each}\n" for each in lines).encode()


def _wide(text: bytes) -> bytes:
    """The same among so much else that it is read as it stands: a program wrote it, nobody pasted it."""
    return b"\n".join([text.strip()] * 3000)


RUN = "Loading checkpoint shards: 100%\nsetting up the model\n"


def _first(path: Path) -> tuple[str, str]:
    """(id, headline) of what is said first of a file."""
    finding = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings[0]
    return finding.problem.id, finding.words().headline


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("train.log", b"", "empty"),
        ("train.log", b"\n \n\n", "empty"),
        ("train.log", b"\0" * 9000, "zero bytes"),
        ("train.log", b"\0" * 300 + b"\n" + b"\0" * 300, "zero bytes"),
        ("train.log", b"{'loss': 0.1, 'grad_norm': 0.2}\n" * 3 + b"\0" * 4096, "ends in zero bytes"),
        ("train.log", NOISE, "This file is not text"),
        ("zipped.log", b"PK\x03\x04" + b"stored text\n" * 99, "This file is not text"),
        ("debug.log", WANDB.encode(), "wandb's own log"),
        ("debug-internal.log", CORE.encode(), "wandb's own log"),
        ("notes.txt", b"lorem ipsum dolor sit amet\n" * 40, "This file does not show a run"),
        ("wandb-summary.json", b'{"train/loss": 0.5, "_step": 100}\n', "This file does not show a run"),
        ("train.log", _wide(_cut(85, "")), "a terminal that cut its lines"),
        ("train.log", (f"{'x' * 40} epoch {'y' * 40}|\n" * 9).encode(), "neither a failure nor the end"),  # a table
        ("train.log", RUN.encode(), "neither a failure nor the end"),
        ("train.log", b"\0" * 4000 + RUN.encode(), "neither a failure nor the end"),  # cut off while it was written
    ],
)
def test_what_was_given_is_named(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    problem, headline = _first(path)
    assert problem == "UNK003"
    assert told in headline


@pytest.mark.parametrize(("width", "pad"), [(85, " "), (80, "")])
def test_a_message_that_a_terminal_cut_is_put_together(tmp_path: Path, width: int, pad: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(_cut(width, pad))
    assert _first(path)[0] == "NCC011"


def test_an_empty_log_beside_another_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "err.log").write_text("")
    (tmp_path / "out.log").write_text(RUN)
    assert "neither" in _first(tmp_path)[1]


def test_gbk_and_broken_characters_are_text() -> None:
    assert nature_of("train.log", [(1, "训练 step 3 loss 0.5 \ufffd"), (2, "\x1b[32mok\x1b[0m")]) == ""


def test_weights_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(NOISE)
    with pytest.raises(NoLogs, match="give the log of the run"):
        examine([str(path)], prepared=PREPARED)


def _cell(count: int | None, *outputs: dict[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": count, "outputs": list(outputs), "source": ["train()"]}


def _error(name: str, message: str) -> dict[str, object]:
    frames = [
        "\x1b[0;31m-----\x1b[0m",
        f"\x1b[0;31m{name}\x1b[0m                 Traceback (most recent call last)",
        "Cell \x1b[0;32mIn[3], line 2\x1b[0m\n\x1b[0;32m----> 2\x1b[0m train()\n",
        f"\x1b[0;31m{name}\x1b[0m: {message}",
    ]
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": frames}


def test_the_last_cell_that_ran_is_the_one_that_failed(tmp_path: Path) -> None:
    memory = "CUDA out of memory. Tried to allocate 4.25 GiB. GPU 0 has a total capacity of 79.10 GiB of which 2.12 GiB"
    printed = {"output_type": "stream", "text": ["{'loss': 0.5, 'grad_norm': 1.2}\n"]}
    cells = [
        _cell(9, printed, _error("torch.OutOfMemoryError", f"{memory} is free.")),  # ran last, stands first
        _cell(3, _error("NameError", "name 'trainer' is not defined")),
        {"cell_type": "markdown", "source": ["# Train"]},
        _cell(None),
    ]
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    assert _first(path)[0] == "MEM6839/unknown_phase"
    path.write_text(json.dumps({"cells": cells[1:], "nbformat": 4}))
    assert _first(path)[0] == "PYT4665"
    path.write_text(json.dumps({"cells": cells[2:], "nbformat": 4}))
    assert "empty" in _first(path)[1]
    path.write_text("{broken")
    assert "This file does not show a run" in _first(path)[1]


def test_a_state_under_another_name_is_metrics(tmp_path: Path) -> None:
    history = [{"loss": 1.0, "step": step} for step in range(1, 4)]
    path = tmp_path / "checkpoint-3_state.json"
    path.write_text(json.dumps({"epoch": 1.0, "global_step": 3, "log_history": history}, indent=2))
    assert "steps 1 to 3" in examine([str(path)], prepared=PREPARED).diagnosis.target.summary


@pytest.mark.parametrize(
    ("end", "silent"),
    [
        ("wandb: Find logs at: ./wandb/run-1/logs", True),
        ("wandb: 🚀 View run a at: https://wandb.ai/a/b/runs/c", False),  # at the start as well
        ("Results saved to: ./result/seed0.json", True),
        ("Saved final model to: /models/final.zip\n\n", True),
        ("2026-11-20 10:02:07,725 - train - INFO - training time: 492.9", True),
        ("[after training is done] datetime: 2026-03-19 23:18:39", True),
        ("2026-11-20 10:00:00,123 INFO    MainThread:1 [wandb_run.py:_atexit_cleanup():2469] got exitcode: 0", True),
        ("Done!", True),
        ("[rank 0] finished", True),
        ("23:14:45 INFO done; answer accuracy over 60 questions: 1.000", True),
        ("21:50:39 INFO exact match after training: 0.250", True),
        ("final accuracy 8/8", True),
        ("Done: 40 of 300", False),
        ("after run 3 the rows are read again", False),
        ("Saved model checkpoint to out/checkpoint-40", False),
        ("epoch 3 training time: 35", False),
        ("the job has not finished", False),
        ("the job finished\n" + "loading the model\n" * 7, False),
        (" 40%|████      | 4/10 [00:02<00:03,  1.98it/s]\nDone!", False),
    ],
)
def test_what_says_that_it_is_done_does_not_break_off(tmp_path: Path, end: str, silent: bool) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"{RUN}{end}\n")
    result = examine([str(path)], prepared=PREPARED)
    assert result.diagnosis.verdict == "unknown"  # it has no metric
    assert ([each.problem.id for each in result.diagnosis.outcome.findings] == []) == silent
    assert ("metrics" in result.diagnosis.not_seen) == silent


@pytest.mark.parametrize(("language", "holds"), [("en", "Neither a failure nor the end"), ("zh", "既没有故障")])
def test_of_a_log_without_an_end_no_cause_is_called_unknown(tmp_path: Path, language: str, holds: str) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"{RUN}{STEPS}")
    report = as_dict(examine([str(path)], prepared=PREPARED, language=language).diagnosis)
    assert holds in verdict_of(report, WORDS[language])


WRITTEN = "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 419.77it/s]\n"
STEPS = "{'loss': 0.5, 'grad_norm': 1.0, 'epoch': 0.1}\n" * 6


@pytest.mark.parametrize(
    ("text", "found"), [(WRITTEN, []), (WRITTEN.replace("1/1", "1/2"), ["UNK003"]), (WRITTEN + STEPS, ["UNK003"])]
)
def test_a_bar_of_writing_is_no_step_and_no_end(tmp_path: Path, text: str, found: list[str]) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"{RUN}{STEPS}{text}")
    result = examine([str(path)], prepared=PREPARED)
    assert (result.case.marks.steps, result.diagnosis.verdict) == (None, "unknown")
    assert [each.problem.id for each in result.diagnosis.outcome.findings] == found


@pytest.mark.parametrize(
    ("who", "silent"),
    [
        ("", True),
        ("(APIServer pid=411) ", True),
        ("(EngineCore_DP0 pid=412) ", True),
        ("(ServeReplica:llm:Deployment pid=90) ", True),
        ("(SGLangEngine pid=80211) ", False),
        ("(vLLMHttpServer pid=312223, ip=10.0.0.4) ", False),
    ],
)
def test_an_engine_of_a_trainer_that_is_ready_is_no_run_that_goes_well(tmp_path: Path, who: str, silent: bool) -> None:
    """Runs of slime stand still behind these lines: https://github.com/THUDM/slime/issues/1484."""
    path = tmp_path / "train.log"
    path.write_text(
        f"{who}INFO:     Started server process [80902]\n{who}INFO:     Application startup complete.\n"
        f'{who}INFO:     10.1.1.5:40112 - "POST /generate HTTP/1.1" 200 OK\n'
    )
    diagnosis = examine([str(path)], prepared=PREPARED).diagnosis
    assert (not diagnosis.outcome.findings) is silent
    assert diagnosis.verdict == "unknown"  # whatever it said so far, its end was not seen


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('raise OSError("Failed to load tokenizer.") from e', True),
        ('raise OSError("Failed to load tokenizer.") from None', False),
        ('raise OSError("Failed to load tokenizer.")', False),
    ],
)
def test_an_exception_in_place_of_another_asks_for_that_one(tmp_path: Path, code: str, told: bool) -> None:
    """LLaMA-Factory wraps what went wrong: https://github.com/hiyouga/LlamaFactory/issues/8573."""
    path = tmp_path / "train.log"
    path.write_text(
        "Traceback (most recent call last):\n"
        '  File "/mnt/LLaMA-Factory/src/llamafactory/model/loader.py", line 93, in load_tokenizer\n'
        f"    {code}\nOSError: Failed to load tokenizer.\n"
    )
    finding = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert finding.problem.id == "UNK001"
    assert ("in place of another exception" in finding.words("en").remedy) is told
    assert ("raise ... from" in finding.words("zh").remedy) is told
