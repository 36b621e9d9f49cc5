"""A rank that did not come to a collective, and said before for what it waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

#: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
TIMED_OUT = (
    "[rank{rank}]:[E421 14:30:08.114 ProcessGroupNCCL.cpp:688] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=91733, OpType=_ALLGATHER_BASE, NumelIn=1310720, NumelOut=10485760, Timeout(ms)=600000) "
    "ran for 600044 milliseconds before timing out.\n"
)
WAITS = "14:29:07 [trainer rank 0] DEBUG Waiting for path '/out/step_412/READY' for 540 seconds\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WAITS + TIMED_OUT.format(rank=2), "Rank 2 waited 600 s in `_ALLGATHER_BASE`; rank 0 waited for path '/out/step_412/READY'"),
        (WAITS + "14:29:08 [trainer rank 0] DEBUG loaded\n" + TIMED_OUT.format(rank=2), "Rank 2 waited 600 s in `_ALLGATHER_BASE` without"),
        (WAITS.replace("rank 0", "rank 2") + TIMED_OUT.format(rank=2), "Rank 2 waited 600 s in `_ALLGATHER_BASE` without"),
    ],
)  # fmt: skip
def test_what_a_rank_that_did_not_come_waited_for(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "run.log").write_text(text)
    finding = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis.outcome.findings[0]
    assert (finding.problem.id, finding.confidence.value) == ("NCC011", "likely")
    assert finding.words().headline.startswith(told)
