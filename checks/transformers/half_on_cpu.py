"""A model in half precision runs on the CPU, where an operation lacks it.

## What it means
torch's CPU side has learned fp16 operation by operation; older releases have none for layer norms, matrix
products or sampling. The model was loaded in fp16 (by `torch_dtype`, or its config), and no GPU was used:
none visible, not moved there, or a layer offloaded.
## What it does to a run
The first forward pass raises RuntimeError.
## What to do
Use fp32 or bf16 on the CPU, or move the model to a GPU.
## How it is found
In a log: by torch's exception, which names the operation.
## References
https://github.com/thinksoso/ChatGLM-Instruct-Tuning/issues/7
https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF022", name="half-precision-on-cpu", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"""RuntimeError: \"(?P<kernel>\w{1,80})\" not implemented for '(?P<dtype>Half|BFloat16)'"""),)

LOG_MESSAGE = Message(
    en=Words(
        "a model in {dtype} ran on the CPU, where torch has no `{kernel}` for it",
        "The weights were loaded in half precision (`torch_dtype=torch.float16`, or what the model's "
        "config says) and the model is on the CPU: no GPU is visible, it was not moved there, or a part "
        "was offloaded.",
        "On the CPU load in float32 (`torch_dtype=torch.float32`, or `model.float()`; bfloat16 works for "
        'most operations); or use a GPU: check `torch.cuda.is_available()` and `model.to("cuda")`. Newer '
        "torch has more of these operations: upgrading may help.",
    ),
    zh=Words(
        "{dtype} 模型在 CPU 上运行,而 torch 在那里没有对应的 `{kernel}`",
        "权重以半精度加载(`torch_dtype=torch.float16`,或模型配置如此),而模型在 CPU 上:没有可见的 GPU、未"
        "移动到 GPU,或部分被卸载。",
        "在 CPU 上以 float32 加载(`torch_dtype=torch.float32`,或 `model.float()`;bfloat16 适用于大多数算"
        '子);或使用 GPU:检查 `torch.cuda.is_available()` 和 `model.to("cuda")`。更新的 torch 支持更多此类'
        "算子,升级也可能有效。",
    ),
)

#: torch's word -> the type's name
_NAMES = {"Half": "float16 (half)", "BFloat16": "bfloat16"}


def explain(hits: Hits) -> Finding | None:
    """Kernels of the CUDA side carry its name; everything else is the CPU's."""
    kernel = hits.get("kernel") or ""
    if "cuda" in kernel.lower():
        return None
    dtype = _NAMES[hits.get("dtype") or "Half"]
    where, evidence = hits.where(), hits.evidence()
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, confidence=LIKELY, kernel=kernel, dtype=dtype)
