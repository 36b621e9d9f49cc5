"""bitsandbytes could not multiply 8-bit matrices: cublasLt refused.

## What it means
A layer that was loaded with `load_in_8bit` (LLM.int8) multiplies integers through cublasLt (hipBLASLt on AMD). That
library returned an error for this GPU, these shapes or this context.
## What it does to a run
The first forward pass of a quantized layer ends it.
## What to do
Take a bitsandbytes whose 8-bit path knows the GPU, or load in 4 bits or without quantization.
## How it is found
In a log: by the exception of bitsandbytes; the function that raised it tells its release.
## References
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.50.1/CHANGELOG.md
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.50.1/docs/source/installation.mdx
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.50.1/bitsandbytes/backends/cuda/ops.py
https://github.com/bitsandbytes-foundation/bitsandbytes/issues/383
https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1428
https://github.com/Facico/Chinese-Vicuna/issues/3
https://docs.nvidia.com/cuda/cublas/#cublasstatus-t
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="BNB010", name="bitsandbytes-int8-product-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"cublasLt ran into an error!", symptom_of=("MEM", "GPU", "TOR006")),
    Signature(r"^cuBLAS API failed with status \d", kind="sign"),
)

#: the function of the releases before 0.45.0, which had a layout of their own for each generation of GPUs
_FORMER = "igemmlt"

BEFORE_HOPPER = Message(
    en=Words(
        "the 8-bit product of bitsandbytes failed in cublasLt, in a release before 0.45",
        "Those releases keep weights in layouts of Turing and Ampere: Hopper (H100, H800, H20) and newer GPUs refuse "
        "them; before 0.37 GPUs without int8 tensor cores (below 7.5: V100, P40) ended so too. On other GPUs it is "
        'mostly a model spread over several of them (`device_map="auto"` under a launcher, or `.to()` after loading), '
        "so that a layer computes on another GPU than the current one, or no memory left.",
        "`pip install -U bitsandbytes` (0.45 or newer; it wants torch 2) rebuilt that path and supports Hopper. With "
        'several processes give each its own GPU: `device_map={{"": int(os.environ["LOCAL_RANK"])}}`, and try one '
        "alone with `CUDA_VISIBLE_DEVICES=0`. Where it stays: `load_in_4bit=True` instead of `load_in_8bit`, which "
        "does not use this product.",
    ),
    zh=Words(
        "bitsandbytes(0.45 之前的版本)的 8 位矩阵乘在 cublasLt 中失败",
        "这些版本把权重保存为 Turing、Ampere 的专用布局:Hopper(H100、H800、H20)及更新的 GPU 不接受;0.37 之前,没有 int8 "
        "tensor core 的 GPU(低于 7.5:V100、P40)也会这样失败。在其他 GPU 上,常见原因是模型分布在多卡上(在 launcher 下用 "
        '`device_map="auto"`,或加载后再 `.to()`),某层在非当前 GPU 上计算,或显存不足。',
        "`pip install -U bitsandbytes`(0.45 及以上,需要 torch 2)重写了这条路径并支持 Hopper。多进程时每个进程只用自己的"
        ' GPU:`device_map={{"": int(os.environ["LOCAL_RANK"])}}`,并先用 `CUDA_VISIBLE_DEVICES=0` 单卡试验。若仍失败,用 '
        "`load_in_4bit=True` 代替 `load_in_8bit`,它不使用该矩阵乘。",
    ),
)
PLAIN = Message(
    en=Words(
        "the 8-bit product of bitsandbytes failed in cublasLt",
        "The library refused the integer product for this GPU or these shapes: LLM.int8 wants an NVIDIA GPU of 7.5 or "
        "newer (V100 and P40 are older), hipBLASLt has no such product for many Radeon cards, and a layer whose "
        "tensors lie on another GPU than the current one, or a full GPU, ends the same way.",
        "`load_in_4bit=True` instead of `load_in_8bit` does not use this product; or load in bf16/fp16. `pip install "
        "-U bitsandbytes` (newer releases fall back where hipBLASLt offers nothing). With several processes give each "
        'its own GPU: `device_map={{"": int(os.environ["LOCAL_RANK"])}}`.',
    ),
    zh=Words(
        "bitsandbytes 的 8 位矩阵乘在 cublasLt 中失败",
        "该库拒绝了此 GPU 或这些形状的整数矩阵乘:LLM.int8 需要计算能力 7.5 及以上的 NVIDIA GPU(V100、P40 更"
        "旧),hipBLASLt 对许多 Radeon 显卡没有该运算;张量不在当前 GPU 上,或显存已满,也会如此。",
        "用 `load_in_4bit=True` 代替 `load_in_8bit`,它不使用该矩阵乘;或以 bf16/fp16 加载。`pip install -U bitsandbytes`"
        "(较新版本在 hipBLASLt 不支持时会回退)。多进程时每个进程只用自己的 GPU:"
        '`device_map={{"": int(os.environ["LOCAL_RANK"])}}`。',
    ),
)

MESSAGES = (BEFORE_HOPPER, PLAIN)


def explain(hits: Hits) -> Finding:
    """The function that raised it tells whether the release is one that knows no Hopper."""
    former = any(_FORMER in frame for hit in hits for frame in hit.frames[-1:])
    return found(
        PROBLEM, BEFORE_HOPPER if former else PLAIN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY
    )  # fmt: skip
