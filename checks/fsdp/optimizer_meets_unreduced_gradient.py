"""The optimizer stepped while FSDP had not reduced the gradients to the shards.

## What it means
While gradients are accumulated without synchronisation, FSDP keeps them whole, in the precision of the backward pass.
When a step follows, they do not fit the shards: another size or dtype. Transformers 4.46 counted the last, shorter
accumulation of an epoch wrongly and stepped there.
## What it does to a run
RuntimeError in the optimizer, mostly at the end of an epoch.
## What to do
Update Transformers, or make the accumulation come out even.
## How it is found
In a log: by PyTorch's message about sizes or dtypes, raised by an optimizer.
## References
https://github.com/huggingface/transformers/pull/34645
https://github.com/huggingface/transformers/issues/34702
https://github.com/foundation-model-stack/fms-hf-tuning/issues/411
https://github.com/huggingface/transformers/issues/25695
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD015", name="optimizer-meets-unreduced-gradient", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: expected dtype (?P<state>[\w.:]{2,24}) for `?end`?,? but got dtype "
            r"(?P<gradient>[\w.:]{2,24})"
        ),
        Message(
            en=Words(
                "the optimizer's state is {state} and the gradient that it got is {gradient}",
                "The two no longer belong together. Under FSDP this is a gradient that was accumulated but never "
                "reduced to the shard: a step was taken inside an accumulation, as Transformers 4.46 did with "
                "the last, shorter one of an epoch. Without FSDP the state was made or loaded in another "
                "precision than the model is trained in.",
                "Update: `pip install -U 'transformers>=4.46.3' accelerate trl`. Else let the accumulation come "
                "out even (`gradient_accumulation_steps=1`, or a number of batches that it divides). If it "
                "follows a resume, start the optimizer anew or load model and optimizer in one dtype; in an "
                "optimizer of your own cast first: `state.lerp_(grad.to(state.dtype), ...)`.",
            ),
            zh=Words(
                "优化器状态为 {state},得到的梯度为 {gradient}",
                "两者已不匹配。在 FSDP 下,这是已累积但从未归约到分片的梯度:在累积中途执行了 step,Transformers "
                "4.46 对每个 epoch 最后较短的累积就是如此。没有 FSDP 时,则是状态以与训练不同的精度创建或加载。",
                "更新:`pip install -U 'transformers>=4.46.3' accelerate trl`。否则让累积整除"
                "(`gradient_accumulation_steps=1`,或批次数为其倍数)。若发生在恢复训练之后,请重新初始化优化器,或以"
                "同一 dtype 加载模型与优化器;自己写的优化器中先转换:`state.lerp_(grad.to(state.dtype), ...)`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: The size of tensor a \((?P<state>\d{1,15})\) must match the size of tensor b "
            r"\((?P<gradient>\d{1,15})\) at non-singleton dimension"
        ),
        Message(
            en=Words(
                "the optimizer's state has {state} values where the gradient has {gradient}",
                "The optimizer holds a shard, and the gradient is that of another cut: under FSDP one that was "
                "accumulated but not reduced (a step inside an accumulation, as Transformers 4.46 did at the end "
                "of an epoch), or the state comes from a run with another number of processes or another "
                "wrapping.",
                "Update: `pip install -U 'transformers>=4.46.3' accelerate trl`; else let the accumulation come "
                "out even (`gradient_accumulation_steps=1`). Make the optimizer after the model is wrapped, and "
                "resume with as many processes and the same `fsdp_use_orig_params` as the checkpoint was written "
                "with (or without its optimizer).",
            ),
            zh=Words(
                "优化器状态有 {state} 个值,而梯度有 {gradient} 个",
                "优化器持有的是一个分片,而梯度按另一种方式切分:在 FSDP 下是已累积但未归约的梯度(在累积中途执行了 "
                "step,Transformers 4.46 在 epoch 末尾如此),或状态来自进程数或包装方式不同的运行。",
                "更新:`pip install -U 'transformers>=4.46.3' accelerate trl`;否则让累积整除"
                "(`gradient_accumulation_steps=1`)。先包装模型再创建优化器;恢复训练时使用与写检查点时相同的进程数"
                "和 `fsdp_use_orig_params`(或不加载其优化器)。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0], frame=r"[\\/]optim[\\/]\w{2,30}\.py:_(?:single_tensor|multi_tensor|fused)_\w{2,20}$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
