"""The loss depends on no trainable parameter, so there is nothing to differentiate.

## What it means
With LoRA the embeddings are frozen. Reentrant gradient checkpointing only builds a graph where an input of
the checkpointed block requires a gradient, so the graph is cut. The same words come where every parameter
is frozen (`is_trainable=False`, an adapter that was not attached) or where the loss was computed under
`no_grad`.
## What it does to a run
`backward` raises at the first step.
## What to do
Call `model.enable_input_require_grads()` before training, or use
`gradient_checkpointing_kwargs={"use_reentrant": False}`.
## How it is found
In a log: by the exception of autograd, together with the warning of torch's checkpointing where it was
printed.
## References
https://github.com/huggingface/peft/issues/137
https://pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT005", name="loss-without-gradient", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: element \d{1,5} of tensors does not require grad and does not have a grad_fn"),
    Signature(r"None of the inputs have requires_grad=True\. Gradients will be None", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "gradient checkpointing cut the graph: no input of the layers requires a gradient",
        "The embeddings are frozen (LoRA), and reentrant checkpointing records nothing unless its input "
        "requires a gradient, so the loss hangs on no trainable parameter.",
        "Call `model.enable_input_require_grads()` before the trainer is built, or set "
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}` in the training arguments.',
    ),
    zh=Words(
        "梯度检查点切断了计算图:被检查点包裹的层没有需要梯度的输入",
        "嵌入层被冻结(LoRA),而 reentrant 检查点只有在输入需要梯度时才记录,因此损失不依赖任何可训练参数。",
        "在构建训练器之前调用 `model.enable_input_require_grads()`,或在训练参数中设置 "
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}`。',
    ),
)

LOG_MESSAGE_LIKELY = Message(
    en=Words(
        "the loss depends on no trainable parameter",
        "Most often LoRA with gradient checkpointing: the embeddings are frozen and reentrant "
        "checkpointing cuts the graph. Otherwise every parameter is frozen (an adapter loaded with "
        "`is_trainable=False`), or the loss was made under `no_grad`.",
        "See `model.print_trainable_parameters()`. With checkpointing call "
        '`model.enable_input_require_grads()` or set `gradient_checkpointing_kwargs={{"use_reentrant": '
        "False}}`; for a loaded adapter pass `is_trainable=True`.",
    ),
    zh=Words(
        "损失不依赖任何可训练参数",
        "最常见的是 LoRA 加梯度检查点:嵌入层被冻结,reentrant 检查点切断了计算图。否则是所有参数都被冻结("
        "以 `is_trainable=False` 加载的适配器),或损失在 `no_grad` 下计算。",
        "查看 `model.print_trainable_parameters()`。使用检查点时调用 "
        '`model.enable_input_require_grads()`,或设置 `gradient_checkpointing_kwargs={{"use_reentrant": '
        "False}}`;对于加载的适配器传入 `is_trainable=True`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The warning of torch's checkpointing proves which of the causes it was."""
    proven = bool(hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_LIKELY,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("model.enable_input_require_grads()",),
        confidence=CONFIRMED if proven else LIKELY,
    )
