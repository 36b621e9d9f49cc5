"""Attempts of one run in one file: the last one is judged where its border is told, else nothing is sure."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalogue.finding import LIKELY
from doctor.logs.lines.attempts import starts
from doctor.logs.postmortem import examine
from doctor.logs.read.appended import last_run, unclear
from tests.prepared import prepared_once

FOLDER = Path(__file__).with_name("attempts")
PREPARED = prepared_once()
#: slurmstepd's words, https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c
REQUEUE = "slurmstepd: error: *** JOB 31182239 ON sh-06-34 CANCELLED AT 2026-11-05T10:35:06 DUE TO JOB REQUEUE ***"
NODE_LOST = REQUEUE.replace("JOB REQUEUE", "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS")
TIME_LIMIT = REQUEUE.replace("JOB REQUEUE", "TIME LIMIT")
#: torch 1.x, without the agent's process in front
OLD_RESTART = "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 2/3 attempts left; will restart worker group"
BEGUN = ["job 7 runs on the node sh-06-34", "loading the model", "loading the data", "step 1"]


def failure(message: str, function: str = "<module>") -> list[str]:
    return [
        "Traceback (most recent call last):",
        f'  File "/home/me/train.py", line 3, in {function}',
        "    main()",
        message,
    ]


#: what the processes of a job that is ended go on to say
TERMINATED = ["W torch/x.py:1 Received Signals.SIGTERM death signal, shutting down workers", *failure("SignalException: 15"),
              *(f"srun: error: sh-06-34: task {task}: Terminated" for task in range(16))]  # fmt: skip
NO_SPACE, NO_MODULE = failure("OSError: [Errno 28] No space left on device"), failure("ModuleNotFoundError: no trl")
CAUGHT = failure("ConnectionError: refused", "ask")


def numbered(*parts: list[str]) -> list[tuple[int, str]]:
    return list(enumerate((line for part in parts for line in part), 1))


@pytest.mark.parametrize("name", ["torchrun-INFO", "torchrun-WARNING", "torchrun-tee", "loop"])
def test_what_ended_the_last_attempt_is_the_cause(name: str) -> None:
    found = examine([str(FOLDER / f"{name}.log")], prepared=PREPARED)
    failures = [each for each in found.case.failures if each.cause.name != "ChildFailedError"]
    assert [each.cause.name for each in failures] == ["KeyError"]
    first = found.ranked.findings[0]
    assert first.problem.id == "UNK001"
    assert first.where.line == failures[0].cause.line.number
    summary = "; ".join(found.diagnosis.target.summary)
    assert f"the last of 3 runs in {name}.log" in summary
    assert "the ones before it ended with RuntimeError, OSError" in summary


def test_where_nobody_tells_the_border_nothing_is_sure(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    shutil.copy(FOLDER / "bare.log", path)
    found = examine([str(path)], prepared=PREPARED)
    assert all(each.confidence is LIKELY for each in found.ranked.findings)
    assert "train.log may hold several attempts, which ended with RuntimeError, OSError, KeyError" in (
        found.diagnosis.target.summary
    )


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ((BEGUN, [REQUEUE], BEGUN, NO_MODULE), 6),
        ((BEGUN, NO_SPACE, [NODE_LOST], BEGUN, NO_MODULE), 10),
        ((BEGUN, [REQUEUE], BEGUN, [REQUEUE], BEGUN, NO_MODULE), 11),
        ((BEGUN, NO_SPACE, [REQUEUE]), None),  # it has not come back yet
        ((BEGUN, NO_SPACE, [REQUEUE], TERMINATED), None),
        ((BEGUN, NO_SPACE, [REQUEUE], TERMINATED, BEGUN, NO_MODULE), 10),
        ((BEGUN, NO_SPACE, [TIME_LIMIT], BEGUN, NO_MODULE), None),
        ((BEGUN, NO_SPACE, [OLD_RESTART], BEGUN, NO_MODULE), 10),
        ((["Attempt 1"], NO_SPACE, ["Attempt 2"], NO_MODULE), 6),
        ((["### Attempt 1/3 ###"], BEGUN, NO_SPACE, ["### Attempt 2/3 ###"], BEGUN, NO_MODULE), 10),
        ((BEGUN, NO_SPACE, ["Attempt 1 failed with exit code 1, waiting"], BEGUN, NO_MODULE), 10),
        ((BEGUN, NO_SPACE, ["Attempt 1 failed"], BEGUN, NO_MODULE, ["Attempt 2 failed", "giving up"]), 10),
        ((["第 1 次尝试"], NO_SPACE, ["第 2 次尝试"], NO_MODULE), 6),
        ((["2026-11-20 10:00:01 INFO Starting attempt 1"], NO_SPACE, ["Starting attempt 2"], NO_MODULE), 6),
        # what died before anybody counted may be why all attempts to reach it failed
        ((NO_SPACE, ["Attempt 1"], NO_MODULE, ["Attempt 2"], NO_MODULE), None),
        ((BEGUN, ["Attempt 1"], CAUGHT, ["Attempt 2"], CAUGHT, BEGUN, NO_MODULE), None),  # of one process
        ((["Attempt 4"], NO_SPACE, ["Attempt 5"], NO_MODULE), None),  # the head of the log is missing
        ((["Attempt 1"], NO_SPACE, ["Attempt 3"], NO_MODULE), None),
        ((["retry 1 of the request", "ok"], BEGUN, NO_SPACE, NO_MODULE), None),
        ((["```"], NO_SPACE, ["Attempt 1 failed"], NO_MODULE, ["```"]), None),
        ((BEGUN, NO_SPACE), None),
        (([],), None),
    ],
    ids=range(22),
)
def test_where_the_last_attempt_begins(parts: tuple[list[str], ...], line: int | None) -> None:
    last = last_run(numbered(*parts))
    assert (last and last.line) == line


def test_agents_of_several_nodes_are_no_attempts() -> None:
    told = "torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: {}) of binary: p"
    lines = [f"E1123 01:44:21.811000 {pid} {told.format(pid + 1)}" for pid in (100, 200)]
    assert starts(numbered(BEGUN, NO_SPACE, lines[:1], NO_MODULE, lines[1:], BEGUN), str) == []


def test_an_agent_that_gives_up_ends_no_attempt() -> None:
    """A paste that ends in the middle of the launcher's own traceback."""
    told = "E1123 01:44:21.811000 100 torch/x.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 101) of binary: python"
    launcher = [NO_SPACE[0], '  File "/opt/venv/bin/torchrun", line 8, in <module>', "    sys.exit(main())"]
    assert starts(numbered(BEGUN, NO_SPACE, [told], launcher), str) == []
    assert starts(numbered(BEGUN, NO_SPACE, [told], BEGUN, NO_MODULE, [told], launcher), str) == [0, 9]


def test_several_processes_are_no_attempts() -> None:
    first = ["loading the model from /models/tiny"]
    assert unclear(numbered(first, NO_SPACE, first, NO_MODULE)) == ("OSError", "ModuleNotFoundError")
    assert unclear(numbered(first, NO_SPACE, first, NO_SPACE)) == ()
    assert unclear(numbered(first, ["[rank1]: x"], NO_SPACE, first, NO_MODULE)) == ()


def test_of_torchruns_folder_the_last_attempt_is_read(tmp_path: Path) -> None:
    for attempt, lines in enumerate((NO_SPACE, NO_MODULE)):
        for rank in (0, 1):
            folder = tmp_path / "none_abc" / f"attempt_{attempt}" / str(rank)
            folder.mkdir(parents=True)
            (folder / "stderr.log").write_text("\n".join([*BEGUN, *(lines if rank else [])]) + "\n")
    found = examine([str(tmp_path)], prepared=PREPARED)
    assert [each.cause.name for each in found.case.failures] == ["ModuleNotFoundError"]
    assert "the last of 2 attempts of torchrun alone" in found.diagnosis.target.summary


PIECES = st.sampled_from(
    [
        *NO_SPACE,
        *CAUGHT,
        *BEGUN,
        REQUEUE,
        OLD_RESTART,
        "Attempt 1",
        "Attempt 2 failed",
        "attempt 2",
        "",
        "Killed",
        "\0",
        "第",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_no_lines_break_it(texts: list[str]) -> None:
    lines = numbered(texts)
    last = last_run(lines)
    assert last is None or 1 < last.line <= len(lines)
    unclear(lines)


def test_time_grows_with_the_number_of_lines_alone() -> None:
    lines = numbered(*([["Attempt 1 failed", *NO_SPACE, REQUEUE, "attempt 2"]] * 20_000))
    started = time.process_time()
    last_run(lines)
    unclear(lines)
    last_run(numbered(*([["attempt 1", *NO_SPACE] * 3_000, ["x" * 150] * 50_000])))
    assert time.process_time() - started < 10
