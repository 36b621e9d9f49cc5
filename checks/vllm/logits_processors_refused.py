"""A request brings its own logits processors, and the engine takes none.

## What it means
Engine V1 has no `SamplingParams(logits_processors=...)`; multi-step scheduling of V0 had none either, and V0 of 0.10.1
and 0.10.2 refuses them with the words of multi-step. Classes given to the engine took their place.
## What it does to a run
The request raises; with V0's multi-step the engine dies.
## What to do
Give the processor to the engine, or take another way.
## How it is found
In a log: by vLLM's words.
## References
https://docs.vllm.ai/en/latest/features/custom_logitsprocs/
https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/v1/engine/processor.py
https://github.com/NVIDIA/logits-processor-zoo/issues/29
https://github.com/vllm-project/vllm/issues/8985
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL081", name="logits-processors-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"vLLM V1 does not support per request user provided (?P<kind>logits processors)"),
    Signature(
        r"(?:ValueError|AssertionError): (?P<kind>Logits [Pp]rocessors) are not supported in multi-step decoding"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a request carries logits processors of its own, which this vLLM engine does not take",
        "V1 (the default since 0.8) refuses `SamplingParams(logits_processors=...)`, V0 refuses it with "
        "multi-step scheduling (`--num-scheduler-steps`) and altogether in 0.10.1 and 0.10.2. Libraries "
        "such as outlines, guided JSON of older releases and n-gram filters use it.",
        "Give a class to the engine: `LLM(model, logits_processors=[MyProcessor])` or `--logits-processors "
        "module:Class` (vLLM 0.10.1 and newer). For JSON, choices and grammars use vLLM's own structured "
        "outputs (`StructuredOutputsParams`, before 0.11 `GuidedDecodingParams`). Old code as it is: `pip "
        'install "vllm<=0.10.0"` with `VLLM_USE_V1=0`, without `--num-scheduler-steps`.',
    ),
    zh=Words(
        "请求自带 logits processor,而此 vLLM 引擎不接受",
        "V1(0.8 起默认)拒绝 `SamplingParams(logits_processors=...)`;V0 在多步调度(`--num-scheduler-steps`)"
        "下拒绝,在 0.10.1 和 0.10.2 中一律拒绝。outlines 等库、旧版的 guided JSON 以及 n-gram 过滤会用到它"
        "。",
        "把类交给引擎:`LLM(model, logits_processors=[MyProcessor])` 或 `--logits-processors "
        "module:Class`(vLLM 0.10.1 及以上)。JSON、选项和语法使用 vLLM 自己的结构化输出"
        "(`StructuredOutputsParams`,0.11 之前为 `GuidedDecodingParams`)。旧代码不改时:`pip install "
        '"vllm<=0.10.0"` 并设 `VLLM_USE_V1=0`,不带 `--num-scheduler-steps`。',
    ),
)
