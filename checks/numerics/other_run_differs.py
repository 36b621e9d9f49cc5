"""Words other-run-differs (NUM1516), whose texts stand in the TOML beside it."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.catalogue.courses import Compared, Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


class _Kind(NamedTuple):
    """What kind of thing differs, and what follows from that."""

    pattern: re.Pattern[str]
    en: str
    zh: str


_KINDS = (
    _Kind(
        later(r"(?i)accum|micro.?batch"),
        " With accumulation the loss is a mean over the step only if each micro batch is divided by the number of them, or "
        "by the tokens of the whole step (`num_items_in_batch`); a model that does not take that count, and a trainer that "
        "then does not divide either, add the micro batches up instead of averaging them.",
        "梯度累积时,只有把每个微批除以微批数或整个步的 token 数(`num_items_in_batch`),损失才是该步的均值;"
        "若模型不接受该计数而训练器也不除,微批就被相加而不是平均。",
    ),
    _Kind(
        later(r"(?i)fp8|fp16|bf16|fp32|int[48]|4.?bit|8.?bit|quant|precision|awq|gptq"),
        " It is a matter of precision: a gap that is there from the first step and stays flat is quantisation or rounding of "
        "one side (rollout engine against trainer), and no weight sync that fails; such a gap is corrected by importance "
        "sampling, or both sides are given one precision.",
        "这是精度问题:从第一步就有且保持不变的差距是一侧(rollout 引擎相对于训练器)的量化或舍入,而不是权重同步失败;"
        "可用重要性采样校正,或让两侧使用同一精度。",
    ),
    _Kind(
        later(r"(?i)vllm|sglang|hugging ?face|\bhf\b|transformers\b(?!.*[<>=\d])|engine"),
        " The engines compute other log probabilities for the same tokens: sampler and learner drift apart (other kernels, or "
        "weights that arrive in another form).",
        "两个引擎对相同 token 给出不同的对数概率:采样器与学习器逐渐偏离(内核不同,或权重以另一种形式到达)。",
    ),
    _Kind(
        later(r"(?:[<>=]=?\s?v?\d|\bv?\d+\.\d+)"),
        " It is the release: one of the two versions is wrong. Take the one whose values agree with a third way (another "
        "ZeRO stage, one GPU), downgrade or upgrade, and read its release notes for the change.",
        "这是版本问题:两个版本之一是错的。采用与第三种方式(其他 ZeRO 阶段、单 GPU)一致的版本,升级或降级,并查看其发布说明。",
    ),
    _Kind(
        later(r"(?i)zero|stage|fsdp|ddp|deepspeed"),
        " How gradients are divided and reduced depends on the stage of ZeRO (or FSDP): the norm that is logged may be that of "
        "one rank's own gradients before they are reduced, while what is applied is right; or the gradients are wrong.",
        "梯度如何划分与归约取决于 ZeRO(或 FSDP)的阶段:记录的范数可能是某个 rank 归约前自己的梯度,而实际应用的是对的;"
        "也可能梯度本身是错的。",
    ),
)  # fmt: skip
_PLAIN = {"grad_norm": ("gradient norm", "梯度范数"), "loss": ("loss", "损失"), "kl": ("KL divergence", "KL 散度")}


def of_courses(courses: Courses) -> Finding | None:
    """The largest difference that somebody tells."""
    if not courses.compared:
        return None
    most = max(courses.compared, key=_factor)
    plain, plain_zh = _PLAIN.get(most.metric, (f"values of `{most.metric}`", f" `{most.metric}` 的值"))
    kind = next((each for each in _KINDS if each.pattern.search(most.other)), None)
    course = courses.of[most.metric]
    factor = _factor(most)
    return found(
        PROBLEM, MESSAGE, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        evidence=(most.evidence,), metric=most.metric, other=most.other, here=f"{most.here:.4g}",
        there=f"{most.there:.4g}", factor=f"{factor:.2g}" if factor < 1e6 else "any size", plain=plain,
        plain_zh=plain_zh, kind=kind.en if kind else "", kind_zh=kind.zh if kind else "",
    )  # fmt: skip


def _factor(each: Compared) -> float:
    small, large = sorted((abs(each.here), abs(each.there)))
    return large / small if small > 0 else float("inf")
