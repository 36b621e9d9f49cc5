"""FlashInfer finds no GPU that it could build for.

## What it means
FlashInfer builds kernels for a set of architectures: those of the visible GPUs, or of FLASHINFER_CUDA_ARCH_LIST. An
empty set ends in a sentence about sm75, whatever the GPU is: SM 12.x is left out where `nvcc` is older than CUDA
12.9, a name such as `12.0a` was not understood by some releases, and without a visible GPU there is nothing.
## What it does to a run
vLLM's or SGLang's engine stops when its sampler is tried first.
## What to do
Leave the sampler to torch, or give FlashInfer a toolkit that knows the GPU.
## How it is found
In a log: by FlashInfer's words.
## References
https://github.com/flashinfer-ai/flashinfer/blob/v0.6.0/flashinfer/jit/core.py
https://github.com/flashinfer-ai/flashinfer/blob/v0.6.0/flashinfer/compilation_context.py
https://github.com/vllm-project/vllm/issues/26565
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL074", name="flashinfer-sees-no-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: FlashInfer requires (?:GPUs with )?sm75(?:\+| or higher)"),
    Signature(r"SM 12\.x requires CUDA >= (?P<cuda>\d{1,2}\.\d{1,2})", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "FlashInfer knows no GPU here that it could build kernels for",
        "Its words about sm75 come whenever its list of architectures is empty: the GPU is older than "
        "compute capability 7.5, or it is a new one (SM 12.x: RTX 50, RTX PRO 6000, GB10) and the `nvcc` "
        "under CUDA_HOME is older than 12.9, or the process sees no GPU at all.{toolkit}",
        "Let torch sample: `VLLM_USE_FLASHINFER_SAMPLER=0` (SGLang: `--sampling-backend pytorch`), with "
        "another attention backend where FlashInfer was chosen (`--attention-backend FLASH_ATTN` or "
        "`TRITON_ATTN`). For FlashInfer on SM 12.x: a CUDA toolkit of 12.9 or newer and `CUDA_HOME` set to "
        "it (`nvcc --version`), or `FLASHINFER_CUDA_ARCH_LIST=12.0a` (your capability: `nvidia-smi "
        "--query-gpu=compute_cap --format=csv`); upgrade with `pip install -U flashinfer-python`. See that "
        "`nvidia-smi` and CUDA_VISIBLE_DEVICES show the card.",
    ),
    zh=Words(
        "FlashInfer 在此找不到可为其编译内核的 GPU",
        "只要它的架构列表为空,就会给出关于 sm75 的提示:GPU 的计算能力低于 7.5;或是新卡(SM 12.x:RTX 50、RTX "
        "PRO 6000、GB10)而 CUDA_HOME 下的 `nvcc` 低于 12.9;或进程根本看不到 GPU。{toolkit_zh}",
        "改由 torch 采样:`VLLM_USE_FLASHINFER_SAMPLER=0`(SGLang:`--sampling-backend pytorch`),若选用了"
        " FlashInfer 则换注意力后端(`--attention-backend FLASH_ATTN` 或 `TRITON_ATTN`)。要在 SM 12.x 上用"
        " FlashInfer:安装 12.9 或更新的 CUDA 工具包并设置 `CUDA_HOME`(`nvcc --version`),或"
        " `FLASHINFER_CUDA_ARCH_LIST=12.0a`(计算能力见 `nvidia-smi --query-gpu=compute_cap --format=csv`);"
        "升级:`pip install -U flashinfer-python`。确认 `nvidia-smi` 与 CUDA_VISIBLE_DEVICES 显示该卡。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The line about SM 12.x, where it was printed, tells which of the three it is."""
    if not hits.of(0):
        return None
    cuda = hits.get("cuda")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        toolkit=f" Here it is the toolkit: this GPU needs CUDA {cuda}." if cuda else "",
        toolkit_zh=f"此处是工具包的问题:该 GPU 需要 CUDA {cuda}。" if cuda else "",
    )  # fmt: skip
