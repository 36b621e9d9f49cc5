"""The finding about a value that is not finite, seen before the optimizer's step, with the place where it was born."""

from __future__ import annotations

from typing import Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.checks.numerics.loss_or_gradient_not_finite import PROBLEM
from doctor.monitors.guard.locate import Birth

_VALUES = {"nan": "NaN", "inf": "inf", None: "NaN/inf"}

_WEIGHT = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the weight `{parameter}` holds {kind}",
        "The weight was not finite before this step's forward: an earlier step, a checkpoint or the code that "
        "creates the model wrote it. Everything computed from it is lost, and no later step repairs it.",
        "Go back to a checkpoint from before it, and lower the learning rate or clip if a step wrote it. If "
        "no step has run yet, check how this weight is created or loaded.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:权重 `{parameter}` 含有 {kind}",
        "该权重在本步前向计算之前就不是有限值:由更早的一步、检查点或构造模型的代码写入。由它算出的一切都已作废,后面的步"
        "也无法修复。",
        "回到在此之前的检查点;如果是某一步写入的,降低学习率或启用梯度裁剪。如果尚未执行任何一步,请检查该权重是如何初始"
        "化或加载的。",
    ),
)
_BUFFER = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the buffer `{parameter}` holds {kind}",
        "A buffer of the model (running statistics, positions) is not finite, so nothing computed from it is "
        "finite. No optimizer step repairs a buffer.",
        "Go back to a checkpoint from before it, and check what writes this buffer.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:buffer `{parameter}` 含有 {kind}",
        "模型的一个 buffer(运行统计量、位置等)不是有限值,由它算出的结果也就不是。优化器的步无法修复 buffer。",
        "回到在此之前的检查点,并检查是什么写入了这个 buffer。",
    ),
)
_INPUT = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the batch itself holds {kind}",
        "The model's inputs are not finite, and all weights are: the batch was bad before the model read it.",
        "Check the rows of the batch that the evidence names, and the code that computes images, embeddings or "
        "features from them. Drop or correct such rows.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:batch 本身含有 {kind}",
        "所有权重都是有限值,而模型的输入不是:batch 在进入模型之前就已损坏。",
        "查看证据中列出的 batch 行,以及由它们生成图像、嵌入或特征的代码;丢弃或修复这些行。",
    ),
)
_ACTIVATION = Message(
    en=Words(
        "`{name}` is {value} at step {step}, first in module `{module}`",
        "All weights and the inputs of this module are finite, and its output is not. Causes are weights that a step "
        "made too large, an overflow of half precision, a division or root of zero, or a fully masked row.",
        "Lower the learning rate if the loss or the gradient has just grown. Otherwise compute this module in bf16 or "
        "fp32, and check the rows of the batch that the evidence names.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value},产生于模块 `{module}`",
        "所有权重和该模块的输入都是有限值,而它的计算结果不是:步子过大使权重暴涨、半精度溢出、除以零或对零开方,或整行都"
        "被掩码。",
        "如果 loss 或梯度刚刚增大,请降低学习率;否则用 bf16 或 fp32 计算该模块,并查看证据中列出的 batch 行。",
    ),
)
_LOSS = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the model's outputs are finite, the loss is not",
        "It appears where the loss is computed: rewards, advantages, log probabilities of the reference or of "
        "the rollout engine, or a division by a number of tokens that is zero.",
        "Check rewards and advantages of this batch first, then completions without a single unmasked token. "
        "The weights are still good if the step is dropped.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:模型输出是有限值,而 loss 不是",
        "问题出在组成 loss 的地方:奖励、优势、参考模型或 rollout 引擎的对数概率,或除以等于零的 token 数。",
        "先查看这个 batch 的奖励和优势,再查看没有任何有效 token 的 completion。只要丢弃该步,权重仍然完好。",
    ),
)
_GRADIENT = Message(
    en=Words(
        "`{name}` is {value} at step {step}, first in the gradient of `{parameter}`",
        "The forward pass and the loss are finite, the backward pass is not: an undefined derivative (the square root "
        "or the norm of zero), zero times infinity behind a mask, or an overflow of half precision.",
        "Check what is computed from this module's output: add a small number under roots and norms, and mask before "
        "the operation rather than after it.  The weights are still good if the step is dropped.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value},最先出现在 `{parameter}` 的梯度中",
        "前向计算和 loss 都是有限值,而反向传播不是:不存在的斜率(对零开方或零向量的范数)、掩码之后的零乘无穷,或反向传播"
        "中的半精度溢出。",
        "查看由该模块输出计算的内容:在根号和范数内加一个小常数,在运算之前而不是之后做掩码。只要丢弃该步,权重仍然完好。",
    ),
)
_BEHIND = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the model's outputs are finite, what follows is not",
        "Either the loss computed from the outputs or its backward pass is not finite. The guard does not "
        "see the loss of a plain loop. The first gradient that is not finite, in the order of the backward, is that of "
        "`{parameter}`.",
        "Print the loss of this step first: logarithms, rewards, advantages, or a division by a number of tokens that "
        "is zero make it NaN. If it is finite, check roots, norms and masks after this module's output. The "
        "weights are still good if the step is dropped.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:模型输出是有限值,其后的计算不是",
        "要么由输出算出的 loss 不是有限值,要么从它开始的反向传播不是。guard 看不到普通训练循环的 loss。按反向传播的"
        "顺序,第一个不是有限值的梯度属于 `{parameter}`。",
        "先打印这一步的 loss:对数、奖励、优势值,或除以等于零的 token 数都会使它变为 NaN。如果它是有限值,再查看该模块"
        "输出之后的开方、范数和掩码。只要丢弃该步,权重仍然完好。",
    ),
)
_BACKWARD = Message(
    en=Words(
        "`{name}` is {value} at step {step}, first in the backward pass",
        "The forward pass and the loss are finite, the backward pass is not: an undefined derivative (the square root "
        "or the norm of zero), zero times infinity behind a mask, or an overflow of half precision. Its origin "
        "can no longer be determined: every gradient is {kind} now, because clipping with such a norm makes them so.",
        "Add a small number under roots and norms, and mask before such an operation rather than after it. Without "
        "clipping, the guard names the first gradient that is not finite. The weights are still good if the step is "
        "dropped.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value},产生于反向传播",
        "前向计算和 loss 都是有限值,而反向传播不是:不存在的斜率(对零开方或零向量的范数)、掩码之后的零乘无穷,或反向传播"
        "中的半精度溢出。已无法判断它从哪里开始:此时所有梯度都是 {kind},用这样的范数做梯度裁剪就会如此。",
        "在根号和范数内加一个小常数,在这类运算之前而不是之后做掩码。不做梯度裁剪时,guard 会指出第一个不是有限值的梯度。"
        "只要丢弃该步,权重仍然完好。",
    ),
)
_BEHIND_ALL = Message(
    en=Words(
        "`{name}` is {value} at step {step}: the model's outputs are finite, what follows is not",
        "Either the loss computed from the outputs or its backward pass is not finite. The guard does not "
        "see the loss of a plain loop, and every gradient is {kind}.",
        "Print the loss of this step first: logarithms, rewards, advantages, or a division by a number of tokens that "
        "is zero make it NaN. If it is finite, check roots, norms and masks. The weights are still good if the "
        "step is dropped.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:模型输出是有限值,其后的计算不是",
        "要么由输出算出的 loss 不是有限值,要么从它开始的反向传播不是。guard 看不到普通训练循环的 loss,而所有梯度都是"
        " {kind}。",
        "先打印这一步的 loss:对数、奖励、优势值,或除以等于零的 token 数都会使它变为 NaN。如果它是有限值,再查看开方、"
        "范数和掩码。只要丢弃该步,权重仍然完好。",
    ),
)
_UNKNOWN = Message(
    en=Words(
        "`{name}` is {value} at step {step}, seen before the optimizer's step",
        "A NaN in the forward, the rewards or the weights reaches loss and gradient. Its origin could not be "
        "found by running the forward again. An applied step would write it into all weights.",
        "Check rewards, advantages and learning rate of this step first. Then use bf16 rather than fp16, and clip.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value},在优化器执行该步之前发现",
        "前向计算、奖励或权重中的 NaN 会传到 loss 和梯度。重新运行前向计算未能找到它产生的位置。如果应用该步,它会写入所"
        "有权重。",
        "先查看这一步的奖励、优势和学习率;然后使用 bf16 而不是 fp16,并启用梯度裁剪。",
    ),
)
_MESSAGES = {
    "parameter": _WEIGHT, "buffer": _BUFFER, "input": _INPUT, "activation": _ACTIVATION, "loss": _LOSS,
    "gradient": _GRADIENT, "loss or gradient": _BEHIND,
}  # fmt: skip

#: the same where no parameter can be named, for all of all gradients is not finite
_MESSAGES_OF_ALL = {"gradient": _BACKWARD, "loss or gradient": _BEHIND_ALL}


def not_finite(name: str, kind: Optional[str], step: int, birth: Optional[Birth] = None) -> Finding:
    """The finding that a number of this step is not finite.

    Args:
        name: "loss" or "grad_norm".
        kind: "nan" or "inf"; None where whoever told it does not tell them apart.
        step: the optimizer step that is being made.
        birth: what `locate` found.

    """
    evidence = [Observed.quoted("guard", f"{name} = {_VALUES[kind]} before the optimizer's step {step}")]
    if birth is not None:
        evidence.append(Observed.quoted("guard", _sighting(birth)))
    if birth is not None and birth.operation is not None:
        evidence.append(Observed.quoted("guard", birth.operation))
    return found(
        PROBLEM,
        _message(birth),
        where=Where(step=step, rank=birth and birth.rank, module=(birth and birth.module) or None),
        evidence=tuple(evidence),
        name=name,
        value=_VALUES[kind],
        step=step,
        module=(birth and birth.module) or "model",
        parameter=birth and birth.parameter,
        kind=birth and _VALUES[birth.kind],
    )


def _message(birth: Optional[Birth]) -> Message:
    """What is said of a birth."""
    if birth is None:
        return _UNKNOWN
    of_all = _MESSAGES_OF_ALL.get(birth.what) if birth.parameter is None else None
    return of_all or _MESSAGES.get(birth.what, _UNKNOWN)


def _sighting(birth: Birth) -> str:
    """What the search saw, as a line."""
    if birth.parameter is None and birth.what in _MESSAGES_OF_ALL:
        return f"all elements of all gradients are {birth.kind}"
    place = birth.parameter or birth.module or "the model"
    rows = f", rows {', '.join(map(str, birth.rows[:20]))} of the micro-batch" if birth.rows else ""
    return f"first {birth.kind}: {birth.what} of {place}{rows}"
