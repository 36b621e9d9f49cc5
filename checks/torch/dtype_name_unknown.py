"""A dtype is asked for by a name that torch does not have, such as `bf16`.

## What it means
Libraries look the text up in `torch`: `torch.bfloat16` exists, `torch.bf16` does not. The short forms belong to
`bf16=True` and `fp16=True` of the Trainer and to Accelerate's `mixed_precision`.
## What it does to a run
AttributeError while the model is loaded.
## What to do
Write the name of torch: `bfloat16`, `float16`, `float32`.
## How it is found
In a log: by the AttributeError of the module `torch`.
## References
https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype
https://huggingface.co/docs/transformers/main/en/main_classes/model#transformers.PreTrainedModel.from_pretrained
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR058", name="dtype-name-unknown", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"^AttributeError: module 'torch' has no attribute '(?P<name>bf16|bfp16|bloat16|brain16|BF"
            r"16|FP16|FP32|fp16|fp32|fp64|float_16|float_32|bfloat_16|half16|bfloat|float8|fp8|int4|nf"
            r"4|fp4|torch\.\w{3,12}|bf16-mixed|16-mixed)'"
        ),
        "",
        Message(
            en=Words(
                "torch has no dtype `{name}`",
                "The text of `dtype` (`torch_dtype`) is looked up in `torch`; `bf16` and `fp16` are names of the "
                "Trainer's and of Accelerate's switches, `int4` and `nf4` those of a quantization.",
                'Write `dtype=torch.bfloat16` (text: `"bfloat16"`, `"float16"`, `"float32"`, `"auto"`); for 4 or 8 '
                "bits give a `quantization_config`.",
            ),
            zh=Words(
                "torch 没有名为 `{name}` 的 dtype",
                "`dtype`(`torch_dtype`)的文本会在 `torch` 中查找;`bf16`、`fp16` 是 Trainer 与 Accelerate 开关的名称"
                ",`int4`、`nf4` 属于量化。",
                '写成 `dtype=torch.bfloat16`(文本:`"bfloat16"`、`"float16"`、`"float32"`、`"auto"`);4 位或 8 位请用 '
                "`quantization_config`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says; `torch.int4` exists in newer releases, and torchao asks for it."""
    sure = LIKELY if hits.first.groups["name"] == "int4" else CONFIRMED
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, sure)
