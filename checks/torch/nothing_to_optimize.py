"""The optimizer was given no parameter.

## What it means
Trainers hand over what has `requires_grad`. Where everything is frozen, or a list was used up by an earlier loop,
nothing is left.
## What it does to a run
ValueError when the optimizer is made.
## What to do
Make something trainable before the trainer or optimizer is made.
## How it is found
In a log: by PyTorch's message.
## References
https://docs.pytorch.org/docs/stable/optim.html
https://huggingface.co/docs/peft/developer_guides/troubleshooting
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR046", name="nothing-to-optimize", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"ValueError: optimizer got an empty parameter list",
        Message(
            en=Words(
                "the optimizer got no parameter to train",
                "Every weight is frozen (an adapter loaded with `is_trainable=False`, a quantized base without "
                "LoRA, `requires_grad_(False)`, `freeze_*` settings that name all parts), or `filter(...)` and "
                "`model.parameters()` were iterated before and are used up.",
                "See `model.print_trainable_parameters()` or `sum(p.numel() for p in model.parameters() if "
                "p.requires_grad)`. Add LoRA (`peft_config=`), load an adapter with "
                "`PeftModel.from_pretrained(..., is_trainable=True)`, take freezing out; in own code hand over "
                "`list(...)`.",
            ),
            zh=Words(
                "优化器没有得到任何可训练参数",
                "所有权重都被冻结(以 `is_trainable=False` 加载的适配器、没有 LoRA 的量化基座、"
                "`requires_grad_(False)`、列出全部模块的 `freeze_*` 设置),或 `filter(...)` 与 "
                "`model.parameters()` 先前已被迭代耗尽。",
                "查看 `model.print_trainable_parameters()` 或 `sum(p.numel() for p in model.parameters() if "
                "p.requires_grad)`。添加 LoRA(`peft_config=`),用 `PeftModel.from_pretrained(..., "
                "is_trainable=True)` 加载适配器,去掉冻结;自己的代码中传入 `list(...)`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
