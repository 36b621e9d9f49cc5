"""veRL's model merger met a tensor that is not sharded.

## What it means
The merger joins the ranks' files of an FSDP checkpoint. A run on one GPU saves plain tensors, and FSDP2 keeps buffers
whole on each rank: older mergers expect shards of both.
## What it does to a run
The training and its checkpoint are in order; no Hugging Face folder is written. Buffers that are no scalars are joined
to wrong shapes without a word.
## What to do
Merge with a newer merger; it reads older checkpoints.
## How it is found
In a log: by torch's refusal or the bare assertion in the merger's file.
## References
https://github.com/verl-project/verl/issues/903
https://github.com/verl-project/verl/pull/925
https://github.com/verl-project/verl/pull/7610
https://github.com/hiyouga/EasyR1/issues/243
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL028", name="merger-takes-tensor-whole", severity=ERROR, since="0.1")

#: the assertion that the first weight is a DTensor: in a function, in EasyR1's copy at the top of the file
_ASSERTS = re.compile(r"model_merger\.py:(?:convert_fsdp_checkpoints_to_hfmodels|<module>)$")

SIGNATURES = (
    Signature(
        r"^RuntimeError: zero-dimensional tensor \(at position 0\) cannot be concatenated$",
        frame=r"fsdp_model_merger\.py:_load_and_merge_state_dicts$",
    ),
    Signature(
        r"^AssertionError$",
        frame=r"model_merger\.py:(?:convert_fsdp_checkpoints_to_hfmodels|<module>)$",
    ),
)

BUFFERS = Message(
    en=Words(
        "veRL's merger joins buffers that FSDP2 keeps whole on each rank",
        "The model has buffers that are saved (Gemma 4's, for one). Every rank's file holds a full copy, "
        "and this merger concatenates them as if they were shards; with a scalar that fails, other "
        "buffers get a wrong shape without a word. Training and checkpoint are in order.",
        "Merge again with veRL's main branch or a release with its pull request 7610 (of August "
        "2026): `git clone https://github.com/verl-project/verl && cd verl && python -m "
        "verl.model_merger merge --backend fsdp --local_dir .../actor --target_dir OUT`. Do not use a "
        "folder that an older merger wrote for this model.",
    ),
    zh=Words(
        "veRL 的合并脚本把 FSDP2 在每个 rank 上完整保存的 buffer 当成分片拼接",
        "模型带有会被保存的 buffer(例如 Gemma 4)。每个 rank 的文件都有完整的一份,而该合并脚本把它们当作分"
        "片拼接:标量会报错,其他 buffer 会悄悄变成错误的形状。训练与检查点没有问题。",
        "用 veRL 的 main 分支或包含 PR 7610(2026 年 8 月)的版本重新合并:`git clone "
        "https://github.com/verl-project/verl && cd verl && python -m verl.model_merger merge --backend "
        "fsdp --local_dir .../actor --target_dir OUT`。不要使用旧脚本为该模型生成的目录。",
    ),
)

ONE_GPU = Message(
    en=Words(
        "the model merger expects shards (DTensor), and the checkpoint was saved by one GPU",
        "On one GPU FSDP does not shard, so the file `model_world_size_1_rank_0.pt` holds plain tensors. "
        "This older script asserts that they are shards. Training and checkpoint are in order.",
        "Merge with a newer veRL, which takes both (since its pull request 925, April 2025): `python -m "
        "verl.model_merger merge --backend fsdp --local_dir .../actor --target_dir OUT`. In EasyR1 take "
        "the newer `scripts/model_merger.py`.",
    ),
    zh=Words(
        "合并脚本要求分片张量(DTensor),而该检查点由单个 GPU 保存",
        "单 GPU 时 FSDP 不分片,因此 `model_world_size_1_rank_0.pt` 中是普通张量,而这个较旧的脚本断言它们"
        "是分片。训练与检查点没有问题。",
        "用较新的 veRL 合并,它两者都支持(自 2025 年 4 月的 PR 925):`python -m verl.model_merger merge "
        "--backend fsdp --local_dir .../actor --target_dir OUT`。EasyR1 请使用较新的 "
        "`scripts/model_merger.py`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Buffers that are whole on each rank, or all tensors of a run on one GPU."""
    buffers = bool(hits.of(0))
    if not buffers and not any(hit.frames and _ASSERTS.search(hit.frames[-1]) for hit in hits):
        return None
    return found(
        PROBLEM,
        BUFFERS if buffers else ONE_GPU,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if buffers else LIKELY,
    )
