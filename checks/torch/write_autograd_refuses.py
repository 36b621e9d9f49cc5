"""A tensor was written to in a way that PyTorch refuses, now or in the backward pass.

## What it means
Models for images put their features into the embeddings of the text by writing to them. Gradient and written part
must have one shape, and an expanded tensor cannot be written to at all.
## What it does to a run
RuntimeError in the forward or backward pass.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
https://github.com/modelscope/ms-swift/issues/2886
https://github.com/hiyouga/LlamaFactory/issues/8063
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR045", name="write-autograd-refuses", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: Function (?:torch::autograd::)?(?P<node>\w{3,60}) returned an invalid gradient at "
            r"index \d{1,3} - got (?P<got>\[[\d, ]{0,60}\]) but expected shape compatible with "
            r"(?P<want>\[[\d, ]{0,60}\])"
        ),
        Message(
            en=Words(
                "the backward pass of `{node}` made a gradient of {got} for a tensor of {want}",
                "What went into that operation had another shape when it ran forward: features of images written "
                "over embeddings in place where their numbers differ, a weight that ZeRO-3 freed ([0]) or that "
                "was resized between forward and backward, or gradient checkpointing that ran other data again.",
                "With images: one Transformers (and model code) that the framework names, `use_reentrant=False`, "
                "and see whether it goes with `per_device_train_batch_size=1` or without rows of several images. "
                "With ZeRO-3 try ZeRO-2. In own code replace `x[mask] = y` by `x = x.masked_scatter(mask, y)`.",
            ),
            zh=Words(
                "`{node}` 的反向为形状 {want} 的张量生成了 {got} 的梯度",
                "该运算的输入在前向时形状不同:图像特征原地写入 embedding 而数量不同、被 ZeRO-3 释放的权重([0])或"
                "在前向与反向之间被调整大小的权重,或梯度检查点以不同数据重新运行。",
                "含图像时:使用框架指定的 Transformers(与模型代码)、`use_reentrant=False`,并检查 "
                "`per_device_train_batch_size=1` 或去掉多图行后是否正常。使用 ZeRO-3 时试 ZeRO-2。自己的代码中以 "
                "`x = x.masked_scatter(mask, y)` 代替 `x[mask] = y`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a "
            r"single memory location"
        ),
        Message(
            en=Words(
                "an expanded tensor was written to in place",
                "`expand` shows one value many times without copying it (position ids and masks of a batch often "
                "are such views), so it cannot be written to. In a model's own code it is a defect of that "
                "release.",
                "In own code `.clone()` (or `.contiguous()`) after `expand`; in a library's model `pip install "
                "-U transformers` and the training framework, and the version that the framework names.",
            ),
            zh=Words(
                "对 expand 得到的张量做了原地写入",
                "`expand` 不复制而多次展示同一个值(一批的 position ids 与掩码常是这种视图),因此不能写入。若在模型"
                "自带代码中,则是该版本的缺陷。",
                "自己的代码在 `expand` 之后 `.clone()`(或 `.contiguous()`);库中的模型请 `pip install -U "
                "transformers` 与训练框架,并使用框架指定的版本。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
