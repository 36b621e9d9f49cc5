"""Ranks that share a batch and print the same share of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

ROW = "[audit] rank={rank} worker=0 shard=3 traj={row} index=42\n"
ANSWER = "rollout[rank {rank}] prompt 0 sample {sample}: 'To solve this we note that 3x + 2 = {end}'\n"


def rows(*pairs: tuple[int, int]) -> str:
    return "".join(ROW.format(rank=rank, row=row) for rank, row in pairs)


def answers(*ends: int) -> str:
    return "".join(ANSWER.format(rank=place, sample=place, end=end) for place, end in enumerate(ends))


@pytest.mark.parametrize(
    ("text", "context", "told"),
    [
        (rows((0, 17), (1, 17), (0, 5), (1, 5)), "", "Rank 0, 1 print the same samples"),
        (answers(11, 11, 11), "", "Rank 0, 1, 2 print the same samples"),
        (rows((0, 17), (1, 18), (0, 5), (1, 5)), "", ""),
        (rows((0, 17), (1, 17)), "", ""),  # two lines alone
        (answers(11, 12, 11), "", ""),
        (rows((0, 17), (1, 17), (0, 5), (1, 5)), "tensor_model_parallel_size: 2\n", ""),  # by design
        ("rank=0 step 1 loss 0.5\nrank=1 step 1 loss 0.5\nrank=0 step 2 loss 0.4\nrank=1 step 2 loss 0.4\n", "", ""),
    ],
)
def test_ranks_that_print_the_same_share(tmp_path: Path, text: str, context: str, told: str) -> None:
    (tmp_path / "run.log").write_text(text)
    (tmp_path / "context.txt").write_text(context or "GRPO on four cards\n")
    outcome = examine(
        [str(tmp_path / "run.log")], context=[tmp_path / "context.txt"], prepared=prepared_once()
    ).diagnosis.outcome
    found = [each.words().headline for each in outcome.findings if each.problem.id == "LCH8772"]
    assert (
        found[:1] == [found[0]] and found[0].startswith(told)
        if told
        else not any("same samples" in each for each in found)
    )
