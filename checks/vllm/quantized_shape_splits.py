"""Tensor parallelism cuts quantized weights where their groups do not allow it.

## What it means
A quantized weight is stored in groups or blocks (32, 64, 128 numbers share a scale), and its kernels work on
tiles. Tensor parallelism divides each matrix by the number of GPUs; a slice that is no multiple of the group or
tile cannot be computed.
## What it does to a run
The engine ends while it builds the layers, or at the first request.
## What to do
A smaller tensor parallel size, pipeline or expert parallelism instead, or a checkpoint with another group size.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/5675
https://github.com/vllm-project/vllm/issues/17604
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL051", name="quantized-shape-splits", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The (?P<side>input|output) size is not aligned with the quantized weight shape",
    ),
    Signature(
        r"Weight (?P<side>input|output)_size_per_partition = (?P<size>\d{1,7}) (?:is not|must be)"
        r" divisible by min_thread_[kn] = (?P<tile>\d{1,5})",
    ),
    Signature(
        r"(?:Weight |The )(?P<side>input|output)_(?:partition_)?size\w{0,14} (?:of [^\n=]{1,40} )?="
        r" (?P<size>\d{1,7}) is not divisible by weight quantization block_[kn] = (?P<tile>\d{1,5})",
    ),
    Signature(
        r"Input size per partition \((?P<size>\d{1,7})\) must be divisible by group size"
        r" \((?P<tile>\d{1,5})\)",
    ),
    Signature(
        r"size_[kn] must (?:be )?divisible by BLOCK_SIZE_[KN]",
    ),
    Signature(
        r"prob_[mnk] = (?P<size>\d{1,7}) is not divisible by thread_[mnk] = (?P<tile>\d{1,5})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the tensor parallel size cuts the quantized weights outside their groups{numbers}",
        "Quantized weights (AWQ, GPTQ, FP8 blocks, Marlin) come in groups that share a scale, and their "
        "kernels need slices that are multiples of the group or tile. Divided by `tensor_parallel_size`, "
        "a layer of this checkpoint is none.",
        "Lower `--tensor-parallel-size` (4, 2 or 1; the rest of the GPUs by `--pipeline-parallel-size` "
        "or data parallelism, `--enable-expert-parallel` for a mixture of experts), or take a checkpoint "
        "that divides: another group size (32 or 64), padded layers, or unquantized weights. A slower "
        "kernel that does not need the tile may work: `--quantization gptq` or `awq`.",
    ),
    zh=Words(
        "张量并行大小把量化权重切到了分组之外{numbers_zh}",
        "量化权重(AWQ、GPTQ、FP8 分块、Marlin)按组共享缩放系数,其内核要求每个切片是分组或分块大小的整数倍"
        "。该检查点的某一层除以 `tensor_parallel_size` 之后不满足。",
        "降低 `--tensor-parallel-size`(4、2 或 1;其余 GPU 用 `--pipeline-parallel-size` 或数据并行,混合专"
        "家模型用 `--enable-expert-parallel`);或换用可整除的检查点:其他分组大小(32 或 64)、填充过的层或未"
        "量化的权重。不需要分块的较慢内核也可能可用:`--quantization gptq` 或 `awq`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With size of the slice and of the group where told."""
    size, tile = hits.get("size"), hits.get("tile")
    told = size and tile
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        numbers=f": {size} is no multiple of {tile}" if told else "",
        numbers_zh=f":{size} 不是 {tile} 的倍数" if told else "",
    )
