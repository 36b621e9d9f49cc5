"""Unsloth has cut the tokens of a batch to `max_seq_length`, and the mask beside them was not cut.

## What it means
Where prompt and completion together are longer than the `max_seq_length` that the model was loaded with, Unsloth
says so, cuts the ids, and goes on. What the trainer holds beside them (completion mask, log-probabilities of the
reference) keeps its length.
## What it does to a run
Tensors of two lengths meet in the loss: "The size of tensor a must match ..." at the first batch that is too long.
## What to do
Load the model with room for prompt and completion, or shorten them.
## How it is found
In a log: by the exception in Unsloth's trainer; Unsloth's own notice about the length settles it.
## References
https://github.com/unslothai/unsloth/issues/2558
https://github.com/unslothai/unsloth/issues/4181
https://github.com/unslothai/unsloth/blob/main/unsloth/models/llama.py
https://github.com/datawhalechina/unlock-deepseek/issues/38
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL054", name="unsloth-lengths-differ", severity=ERROR, since="0.1")

_UNSLOTH = r"Unsloth\w{0,30}Trainer\.py:|[\\/]unsloth(?:_zoo|_compiled_cache)?[\\/]"

SIGNATURES = (
    Signature(
        r"RuntimeError: The size of tensor a \((?P<a>\d{1,9})\) must match the size of tensor b \((?P<b>\d{1,9})\)",
        frame=_UNSLOTH,
    ),
    Signature(
        r"RuntimeError: Size does not match at dimension \d expected index \[\d{1,6}, (?P<a>\d{1,9}), 1\] to be (?:no "
        r"larger|smaller) than self \[\d{1,6}, (?P<b>\d{1,9}), \d{1,9}\]",
        frame=_UNSLOTH,
    ),
    Signature(
        r"Unsloth: Input IDs of (?:shape .{1,60} with )?length (?P<length>\d{1,9}) > the model's max sequence "
        r"length of (?P<limit>\d{1,9})",
        kind="sign",
    ),
    Signature(
        r"RuntimeError: The size of tensor a \((?P<a>\d{1,9})\) must match the size of tensor b \((?P<b>\d{1,9})\) at "
        r"non-singleton dimension 1"
    ),
)

CUT = Message(
    en=Words(
        "a sequence of {length} tokens is longer than the `max_seq_length={limit}` of Unsloth's model",
        "Unsloth cut the ids to {limit} and went on; the masks beside them kept their length, and the loss puts the "
        "two together.",
        "Load with `max_seq_length` of at least `max_prompt_length + max_completion_length` ({length} here), or make "
        "these smaller and drop the prompts that are too long.",
    ),
    zh=Words(
        "一个 {length} token 的序列超过了 Unsloth 模型的 `max_seq_length={limit}`",
        "Unsloth 把 token 截断到 {limit} 后继续;旁边的掩码保持原长,二者在损失中相遇。",
        "加载时让 `max_seq_length` 不小于 `max_prompt_length + max_completion_length`(此处为 {length}),"
        "或减小这两者,并丢弃过长的提示。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "tensors of {a} and {b} positions meet in Unsloth's trainer",
        "Ids and mask (or the log-probabilities of two passes) were not cut or padded alike: sequences beyond "
        "`max_seq_length`, prompts that are cut or padded by another tokenizer than the batch, or a release of Unsloth "
        "that computes one of them off by a position.",
        "Make `max_seq_length` at least `max_prompt_length + max_completion_length` plus some room. If the lengths "
        "fit, upgrade (`pip install -U --no-deps unsloth unsloth_zoo`), delete the folder `unsloth_compiled_cache`, "
        "and keep TRL inside the range that `pip check` tells.",
    ),
    zh=Words(
        "长度为 {a} 和 {b} 的张量在 Unsloth 训练器中相遇",
        "token 与掩码(或两次前向的对数概率)没有一致地截断或填充:序列超过 `max_seq_length`,提示由另一个分词器截断或填充,"
        "或该 Unsloth 版本的计算差一个位置。",
        "让 `max_seq_length` 不小于 `max_prompt_length + max_completion_length` 并留有余量。若长度合适,请升级"
        "(`pip install -U --no-deps unsloth unsloth_zoo`),删除 `unsloth_compiled_cache` 文件夹,并让 TRL 处于 "
        "`pip check` 给出的范围内。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Unsloth's own notice settles the cause; without it two lengths are all that is known."""
    if not (hits.of(0) or hits.of(1) or (hits.of(2) and hits.of(3))):
        return None
    cut = hits.of(2)
    values = cut[-1].groups if cut else {"a": hits.get("a"), "b": hits.get("b")}
    return found(
        PROBLEM, CUT if cut else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if cut else LIKELY, **values,
    )  # fmt: skip
