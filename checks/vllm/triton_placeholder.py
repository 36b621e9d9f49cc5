"""vLLM's stand-in for Triton is taken for the real package.

## What it means
Where Triton is not installed vLLM puts a module of that name into sys.modules so that its own imports go
through. torch 2.6 asks only whether the name can be imported and then wants `triton.compiler` of it.
## What it does to a run
Inspecting or compiling the model fails; the last line blames the model's architecture.
## What to do
Install a real Triton, or versions of torch and vLLM that look closer.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/17309
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL035", name="triton-placeholder", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"No module named 'triton\.(?P<part>[\w.]{1,60})'; 'triton' is not a package"),)

LOG_MESSAGE = Message(
    en=Words(
        "torch wants `triton.{part}` and finds vLLM's placeholder instead of Triton",
        "Triton is not installed, or failed to load. vLLM then puts an empty module of that name in its "
        "place, which torch's check takes for the real one. What is said later about the model's "
        "architecture is a consequence.",
        "Install a real Triton for this platform (`pip install triton`, the version that belongs to the "
        "installed torch); where there is none, upgrade to torch 2.7 or newer or to a newer vLLM, or run "
        "with `--enforce-eager`.",
    ),
    zh=Words(
        "torch 需要 `triton.{part}`,找到的却是 vLLM 的占位模块而不是 Triton",
        "Triton 没有安装或加载失败。vLLM 会放一个同名的空模块代替,而 torch 的检查把它当成真的。之后关于模"
        "型架构的报错只是后果。",
        "为该平台安装真正的 Triton(`pip install triton`,与已安装的 torch 对应的版本);若没有可用版本,升级"
        "到 torch 2.7 及以上或更新的 vLLM,或用 `--enforce-eager` 运行。",
    ),
)

LOG_CONFIDENCE = LIKELY
