"""A prompt is longer than data.max_prompt_length and nothing filters or cuts it.

## What it means
veRL's dataset raises where truncation is 'error' and a prompt was not filtered.
## What it does to a run
The run ends when the data loader meets that prompt, perhaps hours later.
## What to do
Filter, cut, or allow longer prompts.
## How it is found
veRL's message.
## References
https://verl.readthedocs.io/en/latest/examples/config.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL015", name="verl-prompt-longer-than-limit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NotImplementedError: sequence_length=(?P<length>\d{1,9}) is larger than"
        r" (?:self\.)?max_length=(?P<limit>\d{1,9})"
    ),
    Signature(
        r"RuntimeError: Sizes of tensors must match except in dimension 0\. Expected size (?P<limit>\d{1,9}) but got"
        r" size (?P<length>\d{1,9}) for tensor number \d{1,6} in the list",
        frame=r"agent_loop\.py:_?(?:postprocess|agent_loop_postprocess|generate_sequences)$",
    ),
    Signature(r"RuntimeError: Prompt length (?P<length>\d{1,9}) is longer than (?P<limit>\d{1,9})"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a prompt of {length} tokens exceeds the limit of {limit}",
        "`data.truncation` is `error` and the prompt was not filtered. Releases around 0.3 with an "
        "own trainer did not hand `filter_overlong_prompts` and `truncation` on to the dataset, and "
        "long multimodal prompts grow after the filter.",
        "Set `data.filter_overlong_prompts=True` (on a current veRL; update an old checkout), or "
        "raise `data.max_prompt_length` to {length} or more, or cut with `data.truncation=left` (or "
        "`right`, `middle`).",
    ),
    zh=Words(
        "一条 {length} 个 token 的提示超过上限 {limit}",
        "`data.truncation` 为 `error`,且该提示没有被过滤。0.3 前后的版本在自定义训练器中没有把 "
        "`filter_overlong_prompts` 与 `truncation` 传给数据集;多模态提示也可能在过滤之后变长。",
        "设置 `data.filter_overlong_prompts=True`(使用新版 veRL,旧代码请更新),或把 "
        "`data.max_prompt_length` 提高到 {length} 以上,或用 `data.truncation=left`(或 `right`、"
        "`middle`)截断。",
    ),
)

JOINED = Message(
    en=Words(
        "one sample of the agent loop is {length} tokens long where the others have {limit}",
        "The loop pads every prompt and response to its limit and joins them. A sample beyond the limit is not "
        "cut, so it does not fit: most often a prompt (with tools, system text or images) longer than "
        "`data.max_prompt_length`, for multi-turn data is not filtered in some releases; else a response with tool "
        "answers longer than `data.max_response_length`.",
        "Raise the limit that {limit} stands for above {length} (`data.max_prompt_length` or "
        "`data.max_response_length`, and the engine's `max_model_len`), or drop long samples from the data set "
        "with the chat template and tools applied. An own agent loop must cut its ids to both limits. Newer veRL "
        "filters (`data.filter_overlong_prompts=True`).",
    ),
    zh=Words(
        "agent loop 的一条样本长 {length} 个 token,而其余为 {limit}",
        "循环把每条提示与回复填充到上限再拼接。超过上限的样本不会被截断,因此无法拼接:多半是提示(含工具、系统文本或"
        "图像)长于 `data.max_prompt_length`,某些版本不过滤多轮数据;否则是带工具返回的回复长于 "
        "`data.max_response_length`。",
        "把 {limit} 对应的上限提高到 {length} 以上(`data.max_prompt_length` 或 `data.max_response_length`,以及引擎"
        "的 `max_model_len`),或在套用 chat template 与工具之后从数据集中去掉过长样本。自定义 agent loop 必须把 ids "
        "截到两个上限之内。新版 veRL 会过滤(`data.filter_overlong_prompts=True`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The data set's own words, or two lengths that could not be joined."""
    joined = not hits.of(0) and not hits.of(2)
    return found(
        PROBLEM,
        JOINED if joined else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if joined else CONFIRMED,
        length=hits.get("length"),
        limit=hits.get("limit"),
    )
