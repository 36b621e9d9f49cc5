"""An operation met tensors of two dtypes.

## What it means
Weights and activations of one operation have different precision: a part of the model was loaded or kept in
another dtype (an adapter or a new head in float32, a base in bfloat16, layers that k-bit preparation casts),
and no autocast lies around it (generation, evaluation, a forward pass of one's own).
## What it does to a run
The operation raises RuntimeError.
## What to do
Load everything in one dtype, or run the part under autocast.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/amp.html
https://huggingface.co/docs/peft/developer_guides/troubleshooting#dtype-related-issues
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR031", name="dtypes-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?:expected (?:scalar type|m1 and m2 to have the same dtype, but got:|"
        r"mat1 and mat2 to have the same dtype, but got:) ?|mat1 and mat2 must have the same "
        r"dtype, but got )(?P<one>[\w:]{1,24})(?: but found | != | and )(?P<two>[\w:]{1,24})"
    ),
    Signature(
        r"RuntimeError: Input type \((?P<one>[\w.:]{1,40})\) and bias type \((?P<two>[\w.:]{1,40})\) should be the same"
    ),
    Signature(
        r"RuntimeError: Expected query, key, and value to have the same dtype, but got "
        r"query\.dtype: (?P<one>[\w:]{1,24}) key\.dtype: (?P<two>[\w:]{1,24})"
    ),
    Signature(
        r"RuntimeError: Index put requires the source and destination dtypes match, got "
        r"(?P<one>\w{1,24}) for the destination and (?P<two>\w{1,24}) for the source"
    ),
    Signature(
        r"RuntimeError: \w{1,40}\(\): (?:self and source|self and src|input and src) expected to have the same dtype, "
        r"but got "
        r"\((?:self|input)\) ?(?P<one>\w{1,24}) and \((?:source|src)\) ?(?P<two>\w{1,24})"
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "one operation met tensors of dtype `{one}` and `{two}`",
        "A part of the model is in another precision than the rest: an adapter, a new head or "
        "layer norms in float32 beside a bfloat16 or float16 base, or code outside of autocast "
        "(generation, evaluation, own forward pass).",
        "Load all of it in one dtype (`torch_dtype=torch.bfloat16`), cast what was added "
        "(`model.to(torch.bfloat16)`, for a 4-bit base `bnb_4bit_compute_dtype`), or run that "
        'part under `torch.autocast("cuda", dtype=torch.bfloat16)` with `bf16=True` in the '
        "trainer.",
    ),
    zh=Words(
        "一次运算遇到了 dtype 为 `{one}` 和 `{two}` 的张量",
        "模型的一部分与其余部分精度不同:float32 的适配器、新增的头或归一化层与 bfloat16/float16 "
        "的基座并存,或代码位于 autocast 之外(生成、评估、自己的前向)。",
        "以同一种 dtype 加载(`torch_dtype=torch.bfloat16`),"
        "转换新增部分(`model.to(torch.bfloat16)`,4-bit 基座用 `bnb_4bit_compute_dtype`),或在 "
        '`torch.autocast("cuda", dtype=torch.bfloat16)` 下运行该部分,并在训练器中设 `bf16=True`。',
    ),
)
