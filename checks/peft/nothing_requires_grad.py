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
https://github.com/hiyouga/LlamaFactory/issues/6358
https://github.com/pytorch/pytorch/blob/v2.5.1/torch/utils/checkpoint.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT005", name="loss-without-gradient", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: element \d{1,5} of tensors does not require grad and does not have a grad_fn"),
    Signature(r"None of the inputs have requires_grad=True\. Gradients will be None", kind="sign"),
    Signature(r"RuntimeError: none of output has requires_grad=True, this checkpoint\(\) is not necessary"),
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


BLOCK = Message(
    en=Words(
        "a checkpointed block went through the backward pass, and nothing in it requires a gradient",
        "Gradient checkpointing runs each block once more in the backward pass. Of this one neither the parameters "
        "nor the inputs ask for a gradient: its layers are frozen (freeze settings, LoRA or modules_to_save "
        "elsewhere, a vision tower), or it ran under `no_grad`.",
        "See which parameters train: `[n for n, p in model.named_parameters() if p.requires_grad]`. Set "
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or call `model.enable_input_require_grads()`; to '
        "see whether that is it, train a step with gradient checkpointing off.",
    ),
    zh=Words(
        "某个被检查点包裹的块参与了反向传播,而其中没有任何需要梯度的内容",
        "梯度检查点在反向传播中会再次运行每个块。该块的参数和输入都不需要梯度:其各层被冻结(冻结设置、LoRA 或 "
        "modules_to_save 位于别处、视觉塔),或在 `no_grad` 下运行。",
        "查看哪些参数可训练:`[n for n, p in model.named_parameters() if p.requires_grad]`。设置 "
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}`,或调用 `model.enable_input_require_grads()`;'
        "关闭梯度检查点训练一步可判断是否如此。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The warning of torch's checkpointing proves which of the causes it was."""
    if hits.of(2):
        return found(PROBLEM, BLOCK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    proven = bool(hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_LIKELY,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("model.enable_input_require_grads()",),
        confidence=CONFIRMED if proven else LIKELY,
    )
