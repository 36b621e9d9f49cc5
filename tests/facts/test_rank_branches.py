"""Branches on the rank: whose calls the other ranks do not make."""

from __future__ import annotations

import ast

import pytest

from doctor.readers.script.rank_branches import is_first_rank
from doctor.readers.script.script_reader import read

HEAD = """\
import deepspeed
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from accelerate import Accelerator
accelerator = Accelerator()
"""


def lone(body: str) -> list[str]:
    return [each.name for each in read("train.py", f"{HEAD}{body}\n".encode()).lone_calls]


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ("rank == 0", True),
        ("rank != 0", False),
        ("not rank", True),
        ("dist.get_rank() == 0", True),
        ("int(os.environ['RANK']) == 0", True),
        ("args.local_rank in [-1, 0]", True),
        ("args.local_rank not in (-1, 0)", False),
        ("rank > 0", False),
        ("accelerator.is_main_process", True),
        ("not accelerator.is_main_process", False),
        ("trainer.is_world_process_zero()", True),
        ("dist.is_initialized() and rank == 0", True),
        ("rank == 0 or step == 0", None),
        ("lora_rank == 0", None),
        ("rank == 1", None),
        ("world_size > 1", None),
        ("reranker", None),
    ],
)
def test_conditions_on_the_rank(test: str, first: bool | None) -> None:
    assert is_first_rank(ast.parse(test, mode="eval").body) is first


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("if rank == 0:\n    dist.barrier()", ["torch.distributed.barrier"]),
        ("if rank == 0:\n    with open('x') as f:\n        dist.barrier()", ["torch.distributed.barrier"]),
        ("if accelerator.is_main_process:\n    x = accelerator.gather(y)", ["accelerator.gather"]),
        ("if rank == 0:\n    engine.save_checkpoint('x')", ["engine.save_checkpoint"]),
        ("if rank == 0:\n    dcp.save(state, checkpoint_id='x')", ["torch.distributed.checkpoint.save"]),
        ("def f():\n    if rank != 0:\n        return\n    dist.all_reduce(x)", ["torch.distributed.all_reduce"]),
        ("for x in y:\n    if rank != 0:\n        continue\n    dist.barrier()", ["torch.distributed.barrier"]),
        # both sides meet
        ("if rank == 0:\n    dist.barrier()\nelse:\n    dist.barrier()", []),
        ("if rank != 0:\n    dist.barrier()\nload()\nif rank == 0:\n    dist.barrier()", []),
        ("if rank == 0:\n    def later():\n        dist.barrier()\nelse:\n    dist.barrier()", []),
        # every rank makes it, or only a part of them is to
        ("if rank == 0:\n    print(1)\ndist.barrier()", []),
        ("if rank == 0:\n    dist.barrier(group=first)", []),
        ("if rank == 0:\n    dist.barrier(first)", []),
        ("if rank == 0:\n    dist.send(x, 1)", []),
        ("if rank == 0:\n    torch.save(model.state_dict(), 'x')", []),
        ("if step == 0:\n    dist.barrier()", []),
        ("if rank == 0:\n    helper(model)", []),
    ],
)
def test_calls_of_a_part(body: str, names: list[str]) -> None:
    assert lone(body) == names
