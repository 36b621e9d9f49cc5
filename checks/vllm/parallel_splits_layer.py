"""Tensor or expert parallelism cuts a layer into unequal parts.

## What it means
vLLM, SGLang and Megatron give every GPU the same part of each layer: of heads, of the hidden and intermediate
size, of the vocabulary, of the experts. A size that the number of GPUs does not divide is refused.
## What it does to a run
The engine ends while it builds the model.
## What to do
A number of GPUs that divides the sizes of the model.
## How it is found
In a log: the assertion of the function that divides a dimension, or of the layer of experts.
## References
https://github.com/sgl-project/sglang/issues/3436
https://github.com/vllm-project/vllm/issues/52435
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL065", name="parallel-splits-layer", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: (?P<size>\d{1,9}) is not divisible by (?P<parts>\d{1,6})$",
        keywords=("AssertionError: ",),
        frame=r":(?:ensure_divisibility|divide)$",
        symptom_of=("VLL008", "VRL"),
    ),
    Signature(
        r"(?P<what>n_physical_experts|num_experts|num_logical_experts)(?:=| \()(?P<size>\d{1,6})\)?"
        r" must be divisible by (?:ep_size|tp_size|expert parallel size)(?:=| \()(?P<parts>\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a layer of size {size} is not divisible by {parts}, the GPUs it is split over",
        "Every GPU of a tensor parallel (or expert parallel) group takes the same part: heads, hidden "
        "and intermediate sizes, vocabulary or experts of this model are not divisible by {parts}.",
        "Choose a parallel size that divides all of them: `--tensor-parallel-size` (SGLang `--tp`) of 1, "
        "2, 4 or 8 for most models, and spread the other GPUs by `--pipeline-parallel-size` or "
        "`--data-parallel-size`. For experts change `--expert-parallel-size` or the number of redundant "
        "experts. More nodes: keep tensor parallelism within one node.",
    ),
    zh=Words(
        "大小为 {size} 的层不能平均切到 {parts} 张 GPU 上",
        "张量并行(或专家并行)组的每张 GPU 各取相同一份:该模型的注意力头数、隐藏与中间维度、词表或专家数不"
        "能被 {parts} 整除。",
        "选择能整除这些大小的并行数:多数模型 `--tensor-parallel-size`(SGLang 为 `--tp`)取 1、2、4 或 8,其"
        "余 GPU 用 `--pipeline-parallel-size` 或 `--data-parallel-size`。专家并行请修改 "
        "`--expert-parallel-size` 或冗余专家数。多节点时把张量并行限制在单个节点内。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With the size of the layer and the number of parts; trainers split experts in the same words."""
    frames = hits.first.frames
    if hits.first.groups.get("what") and frames and not re.search(r"[\\/](?:vllm|sglang)[\\/]", frames[-1]):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=hits.get("size"),
        parts=hits.get("parts"),
    )
