"""Images and their placeholders in the prompt do not match.

## What it means
vLLM replaces each placeholder of the prompt (`<image>`, `<|vision_start|><|image_pad|><|vision_end|>` ...)
by the tokens of one image. Prompt, images and processor must agree.
## What it does to a run
The request, or the start of the engine, ends with an error.
## What to do
Write one placeholder of the model's kind for each image.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/multimodal_inputs/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL046", name="placeholders-do-not-match", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Expected there to be (?P<items>\d{1,5}) prompt (?:updates|placeholders|replacements)"
        r" corresponding to \d{1,5} (?P<kind>\w{1,20}) items, but instead found (?P<found>\d{1,5})",
    ),
    Signature(
        r"(?:ValueError: |['\"]message['\"]: ?['\"])Attempted to assign [^\n]{1,120}?(?P<items>\d{1,7}) "
        r"(?:(?P<kind>image|video|audio) tokens|"
        r"multimodal tokens) to (?P<found>\d{1,7}) placeholders",
    ),
    Signature(r"Failed to apply prompt replacement for mm_items\['(?P<kind>\w{1,20})'\]"),
    Signature(r"At most (?P<most>\d{1,5}) (?P<kind>image|video|audio)\(s\) may be provided in one"),
    Signature(
        r"You set (?P<kind>image|video|audio)=(?P<most>\d{1,5}) \(or defaulted to 1\) in"
        r" `--limit-mm-per-prompt`, but passed (?P<found>\d{1,5})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the prompt's placeholders do not match its {kind}s",
        "The prompt lacks the model's own placeholder, has another number of them than items, was cut in "
        "the middle of them (`max_prompt_length`), or carries tokens that were expanded already.",
        "Build prompts with the processor's chat template (`processor.apply_chat_template`) and hand the "
        "unexpanded text to vLLM; do not truncate multimodal prompts (drop long ones instead, or raise "
        "`max_model_len`); keep one transformers release in trainer and engine; upgrade a vLLM before 0.8, whose "
        "prefill in chunks cut images in two. With a checkpoint of your own compare its processor, tokenizer and chat "
        "template files with those of the base model, and copy them where they differ.",
    ),
    zh=Words(
        "prompt 中的占位符与其 {kind} 不匹配",
        "prompt 缺少该模型自己的占位符,数量与条目不同,在占位符中间被截断(`max_prompt_length`),或包含已展开的 token。",
        "用 processor 的聊天模板构造 prompt(`processor.apply_chat_template`),把未展开的文本交给 vLLM;不要截断多模态 "
        "prompt(改为丢弃过长的,或增大 `max_model_len`);训练器与引擎使用相同的 transformers 版本;0.8 之前的 vLLM 会在分"
        "块预填充时切断图像,请升级。若是自己的检查点,把其中的 processor、tokenizer 与 chat template 文件与基座模型比较,"
        "不同则复制过来。",
    ),
)

LOG_MESSAGE_LIMIT = Message(
    en=Words(
        "a prompt holds more {kind}s than the {most} that vLLM was started for",
        "vLLM reserves room for so many items of each kind in a prompt.",
        "Start it with `--limit-mm-per-prompt '{{\"{kind}\": N}}'`, or send fewer.",
    ),
    zh=Words(
        "prompt 中的 {kind} 多于 vLLM 启动时允许的 {most} 个",
        "vLLM 为每个 prompt 中的各类条目预留了固定数量的空间。",
        "用 `--limit-mm-per-prompt '{{\"{kind}\": N}}'` 启动,或减少数量。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A limit is another matter than a mismatch."""
    most = hits.get("most")
    return found(
        PROBLEM,
        LOG_MESSAGE_LIMIT if most else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        kind=hits.get("kind") or "item",
        most=most,
        confidence=CONFIRMED if most else LIKELY,
    )
