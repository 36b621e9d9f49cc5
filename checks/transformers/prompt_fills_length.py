"""The prompt leaves no room for an answer.

## What it means
`generate` counts the prompt into `max_length`. A prompt that is as long leaves nothing to generate, and frameworks that
work out `max_new_tokens` as the difference of both come to zero or below.
## What it does to a run
`generate` raises, often only at the first long prompt in the middle of a run.
## What to do
Shorten or drop long prompts, or raise the total length.
## How it is found
In a log: by the words of Transformers' generation.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/generation/configuration_utils.py
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/generation/utils.py
https://github.com/modelscope/ms-swift/issues/3032
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF041", name="prompt-fills-length", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: `max_new_tokens` must be greater than 0, but is (?P<room>-?\d{1,7})"),
    Signature(
        r"ValueError: Input length of \w{1,40} is (?P<length>[1-9]\d{0,6}), but `max_length` is set to "
        r"(?P<limit>\d{1,7})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a prompt is too long: it leaves no room for generated tokens{numbers}",
        "The total length counts the prompt, and here the prompt alone reaches it{excess}. Images, tool "
        "output and long chat histories make single prompts much longer than the rest.",
        "Raise the total length (`max_length`, ms-swift `--max_length`, vLLM `max_model_len`), or set "
        "`max_new_tokens` / `max_completion_length` instead of `max_length`, within what the model's "
        "context takes. Drop or cut long prompts beforehand: `dataset = dataset.filter(lambda row: "
        'len(tokenizer(row["prompt"])["input_ids"]) < LIMIT)`; for images fewer pixels (`MAX_PIXELS`, '
        "`max_pixels`).",
    ),
    zh=Words(
        "某个 prompt 过长,没有留出生成的空间{numbers_zh}",
        "总长度包含 prompt,而此处仅 prompt 就已达到{excess_zh}。图像、工具输出和很长的对话历史会使个别"
        " prompt 远长于其余。",
        "增大总长度(`max_length`、ms-swift `--max_length`、vLLM `max_model_len`),或在模型上下文范围内用"
        " `max_new_tokens` / `max_completion_length` 代替 `max_length`。事先丢弃或截断过长的"
        ' prompt:`dataset = dataset.filter(lambda row: len(tokenizer(row["prompt"])["input_ids"]) < '
        "LIMIT)`;图像用更少像素(`MAX_PIXELS`、`max_pixels`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Give both lengths, or by how much the prompt is too long."""
    room, length, limit = hits.get("room"), hits.get("length"), hits.get("limit")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        numbers=f" ({length} tokens of {limit})" if length else "",
        numbers_zh=f"({length} 个 token,上限 {limit})" if length else "",
        excess=f", by {-int(room)} tokens more than allowed" if room and int(room) < 0 else "",
        excess_zh=f",超出 {-int(room)} 个 token" if room and int(room) < 0 else "",
    )  # fmt: skip
