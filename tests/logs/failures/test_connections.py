"""The store of the ranks, as the last words of processes: refused, silent, or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

#: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
REFUSED = (
    "[rank{rank}]:[W403 10:22:31.118 socket.cpp:755] [c10d] The client socket has failed to connect to "
    "[10.0.0.11]:29500 (errno: 111 - Connection refused).\n"
)
SILENT = REFUSED.replace("errno: 111 - Connection refused", "errno: 110 - Connection timed out")
#: of a name that has no address of the other family; the next try succeeds
HARMLESS = REFUSED.replace("errno: 111 - Connection refused", "errno: 97 - Address family not supported by protocol")
#: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/TCPStore.cpp
LOST = (
    "[rank2]:[W901 07:40:19.971 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=81, addr=[localhost]:46764, "
    "remote=[localhost]:29500): Connection reset by peer\n"
    "Exception raised from recvBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:680 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98\n"
)
HOME = "(Worker pid=3121, ip=10.0.0.12) MASTER_ADDR=10.0.0.11 MASTER_PORT=29500 RANK=0 WORLD_SIZE=2\n"
STEP = "{'loss': 0.5, 'grad_norm': 0.4, 'epoch': 0.1}\n"


def headlines(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "run.log").write_text(text)
    found = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis.outcome.findings
    return {each.problem.id: each.words().headline for each in found}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (REFUSED.format(rank=1) + REFUSED.format(rank=2), "Nobody listens at 10.0.0.11:29500, where the ranks should meet (rank 1, 2)"),
        (SILENT.format(rank=1), "No answer from 10.0.0.11:29500, where the ranks should meet (rank 1)"),
        (HOME + REFUSED.format(rank=1), "The ranks look for rank 0 at 10.0.0.11:29500, and rank 0 runs on 10.0.0.12"),
        (HOME.replace("=10.0.0.11", "=10.0.0.12") + REFUSED.format(rank=1).replace("0.11", "0.12"), "Nobody listens at 10.0.0.12:29500"),
        (LOST, "Rank 2 lost the store of rank 0 at localhost:29500: another process ended first"),
        (STEP + LOST, "Rank 2 lost the store of rank 0"),
    ],
)  # fmt: skip
def test_last_words(tmp_path: Path, text: str, told: str) -> None:
    assert headlines(tmp_path, "starting\n" + text).get("LCH020", "").startswith(told)


@pytest.mark.parametrize(
    "text",
    [
        HARMLESS.format(rank=1),
        REFUSED.format(rank=1) + "[rank1] model loaded\n",
        LOST + 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    f()\nValueError: no\n',
        STEP + "{'train_runtime': 212.4, 'train_loss': 1.1432, 'epoch': 1.0}\n" + LOST,
    ],
)  # fmt: skip
def test_what_went_on_ended_well_or_failed_by_itself(tmp_path: Path, text: str) -> None:
    assert "LCH020" not in headlines(tmp_path, "starting\n" + text)
