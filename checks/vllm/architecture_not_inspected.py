"""vLLM could not import its own class for the model.

## What it means
To learn what a model can do, vLLM imports its class in a process of its own. That failed: a package that the
class needs is missing or of another release (transformers above all), or a compiled extension does not load.
## What it does to a run
The engine ends while it reads the configuration, with a message about the architecture that hides the reason.
## What to do
Look at the error that stands above it, and repair the import.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/models/supported_models/
https://github.com/xorbitsai/inference/issues/3135
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL060", name="architecture-not-inspected", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Model architectures \[(?P<names>[^\]\n]{1,300})\] failed to be inspected",
        symptom_of=("PYT", "TOR", "FLA", "TRF", "CUD", "BNB", "DAT", "VLL"),
    ),
    Signature(
        r"Error in inspecting model architecture '(?P<names>\w{1,100})'",
        symptom_of=("PYT", "TOR", "FLA", "TRF", "CUD", "BNB", "DAT", "VLL"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM could not import its class for {names}",
        "vLLM knows this architecture, but importing the class failed in the process that inspects it. "
        "Usually transformers is older or newer than this vLLM expects, or an extension (flash-attn, "
        "torchvision, a compiled part of vLLM) does not load. The reason stands above, in the log of "
        "that process.",
        'See it directly: `python -c "from vllm.model_executor.models import ModelRegistry; '
        "ModelRegistry.inspect_model_cls(['NAME'], None)\"`, or look above for the import error. Then "
        "install the transformers release that this vLLM pins (`pip install -U vllm transformers` "
        "together in a clean environment), or remove the extension that fails to load.",
    ),
    zh=Words(
        "vLLM 无法导入 {names} 对应的模型类",
        "vLLM 认识该架构,但在检查它的子进程中导入失败。通常是 transformers 比该 vLLM 期望的旧或新,或某个"
        "扩展(flash-attn、torchvision、vLLM 的编译部分)无法加载。原因在更上方该进程的日志中。",
        '直接查看:`python -c "from vllm.model_executor.models import ModelRegistry; '
        "ModelRegistry.inspect_model_cls(['名称'], None)\"`,或在上方查找导入错误。然后安装该 vLLM 指定的 "
        "transformers 版本(在干净环境中一起 `pip install -U vllm transformers`),或移除无法加载的扩展。",
    ),
)

LOG_CONFIDENCE = LIKELY
