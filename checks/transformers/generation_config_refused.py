"""The generation configuration contradicts itself, and Transformers will not save it.

## What it means
Many base models (Llama 2, Vicuna) carry `temperature` and `top_p` in `generation_config.json` without `do_sample`.
Reading that only warns; saving it is refused.
## What it does to a run
The first checkpoint, or `trainer.save_model` at the end, raises ValueError: what was trained since the last good
checkpoint is lost when the process ends.
## What to do
Set `model.generation_config.do_sample = True` after loading, or unset the sampling values.
## How it is found
In a log: by the exception that ends the save.
## References
https://github.com/huggingface/transformers/issues/29988
https://github.com/haotian-liu/LLaVA/issues/1144
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/generation/configuration_utils.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hit, Hits, Signature

PROBLEM = Problem(id="TRF045", name="generation-config-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^ValueError: GenerationConfig is invalid:"),
    Signature(r"^ValueError: The generation config instance is invalid -- `\.validate\(\)` throws warnings"),
    Signature(
        r"^ValueError: \[UserWarning\(.`do_sample` is set to `False`\. However, `(?P<name>\w{2,40})` is set to"
        r" `(?P<value>[^`\n]{1,20})`"
    ),
    Signature(
        r"`do_sample` is (?:not set to `True`|set to `False`)\. However, `(?P<name>\w{2,40})` is set to"
        r" `(?P<value>[^`\n]{1,20})` -- this flag is only used in sample-based",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}={value}` with `do_sample=False`: the generation configuration could not be saved",
        "Transformers checks it strictly when a checkpoint is written, though reading the same values only warns. "
        "The save broke off, so this checkpoint is incomplete.",
        "Right after loading the model: `model.generation_config.do_sample = True` (or set the sampling values to "
        "None, `model.generation_config.{name} = None`), or mend `generation_config.json` of the base model. A "
        "checkpoint that was written before can be resumed from.",
    ),
    zh=Words(
        "`{name}={value}` 与 `do_sample=False` 矛盾:生成配置无法保存",
        "Transformers 读取这些值时只警告,写检查点时却严格检查。保存中断,此检查点不完整。",
        "加载模型后立即设置 `model.generation_config.do_sample = True`(或把采样参数设为 None:"
        "`model.generation_config.{name} = None`),或修改基座模型的 `generation_config.json`。可从更早的检查点恢复。",
    ),
)


UNNAMED = Message(
    en=Words(
        "the model's generation configuration is contradictory and could not be saved",
        "Transformers checks it strictly when a checkpoint is written, though reading the same values only warns. "
        "The lines after the error name the fields. The save broke off, so this checkpoint is incomplete.",
        "Correct these fields right after loading the model (`model.generation_config.FIELD = VALUE`; None where it "
        "is not wanted), or mend `generation_config.json` of the base model. A checkpoint that was written before can "
        "be resumed from.",
    ),
    zh=Words(
        "模型的生成配置自相矛盾,无法保存",
        "Transformers 读取这些值时只警告,写检查点时却严格检查。错误之后的几行指出了是哪些字段。保存中断,此检查"
        "点不完整。",
        "加载模型后立即改正这些字段(`model.generation_config.字段 = 值`;不需要时设为 None),或修改基座模型的 "
        "`generation_config.json`。可从更早的检查点恢复。",
    ),
)

#: lines after the error on which it names what contradicts; the same warnings stand elsewhere of other calls
_NEAR = 12


def explain(hits: Hits) -> Finding | None:
    """Name the value that contradicts, where the error's own lines tell it."""
    sign = len(SIGNATURES) - 1
    errors = [hit for hit in hits if hit.signature != sign]
    if not errors:
        return None
    near = [hit for hit in hits.of(sign) if any(_follows(hit, error) for error in errors)]
    told = replace(hits, kept=[*errors, *near])
    name, value = told.get("name"), told.get("value")
    message, confidence = (LOG_MESSAGE, CONFIRMED) if name else (UNNAMED, LIKELY)
    return found(
        PROBLEM, message, where=told.where(), evidence=told.evidence(), confidence=confidence, name=name, value=value
    )


def _follows(sign: Hit, error: Hit) -> bool:
    return sign.file == error.file and 0 < sign.line - error.line <= _NEAR
