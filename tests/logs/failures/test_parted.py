"""Ranks that wait in different collectives are told with the settings by which their work depends on their data."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

TIMED_OUT = (
    "[rank{rank}]:[E427 10:42:28.85{rank} ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=418, OpType={operation}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for"
    " 600013 milliseconds before timing out.\n"
)
PARTED = TIMED_OUT.format(rank=0, operation="_ALLGATHER_BASE", size=8192) + TIMED_OUT.format(
    rank=1, operation="ALLREDUCE", size=1
)
TOGETHER = "".join(TIMED_OUT.format(rank=rank, operation="ALLREDUCE", size=8192) for rank in (0, 1))


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


@pytest.mark.parametrize(
    ("log", "context", "dynamic", "experts"),
    [
        (PARTED, "actor.use_dynamic_bsz=True", True, False),
        (PARTED, "--pretrain Qwen/Qwen3-30B-A3B --zero_stage 3", False, True),
        (PARTED, "actor.use_dynamic_bsz=False", False, False),
        (PARTED, "--pretrain Qwen/Qwen3-30B-A3B --zero_stage 2", False, False),
        (PARTED, "--pretrain Qwen/Qwen3-8B --zero_stage 3", False, False),
        (TOGETHER, "actor.use_dynamic_bsz=True", False, False),
    ],
)
def test_settings_that_part_ranks(
    prepared: Prepared, tmp_path: Path, log: str, context: str, *, dynamic: bool, experts: bool
) -> None:
    (tmp_path / "train.log").write_text(log, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    outcome = examine([str(tmp_path / "train.log")], context=[tmp_path / "context.txt"], prepared=prepared)
    first = outcome.diagnosis.outcome.findings[0]
    words = first.words().explanation
    assert first.problem.id == "NCC011"
    assert ("depends on its data" in words, "has experts" in words) == (dynamic, experts), words


SAID = (
    "(EngineCore_DP0 pid=21) INFO 03-24 10:11:02 [core.py:912] Pausing scheduler\n"
    "(EngineCore_DP1 pid=22) INFO 03-24 10:11:02 [core.py:912] Pausing scheduler\n"
    "{more}(EngineCore_DP0 pid=21) INFO 03-24 10:11:02 [gpu_worker.py:611] collective_rpc update_weights\n"
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "(EngineCore_DP1 pid=22) DEBUG 03-24 10:11:02 [core.py:1498] EngineCore starting idle loop for wave 7.\n",
            (
                "EngineCore_DP0: `Pausing scheduler`, then `collective_rpc update_weights`; "
                "EngineCore_DP1: `Pausing scheduler`, then `EngineCore starting idle loop for wave 7`"
            ),
        ),
        ("(EngineCore_DP1 pid=22) INFO 03-24 10:11:02 [gpu_worker.py:611] collective_rpc update_weights\n", ""),
    ],
)
def test_what_each_process_said_last(prepared: Prepared, tmp_path: Path, more: str, told: str) -> None:
    (tmp_path / "train.log").write_text(SAID.format(more=more) + PARTED, encoding="utf-8")
    first = examine([str(tmp_path / "train.log")], prepared=prepared).diagnosis.outcome.findings[0]
    assert first.values["words"] == told
