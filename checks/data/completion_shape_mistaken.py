"""A reward function takes completions for messages where they are text, or the other way round.

## What it means
TRL hands a reward function what matches the prompts: where `prompt` is a list of messages each completion is a list
of messages (`completion[0]["content"]`), where it is a string each completion is a string. Tokenizers or wrappers that
turn prompts into text beforehand (`apply_chat_template`, a model without a chat template) change it with them.
## What it does to a run
The first reward raises TypeError or AttributeError.
## What to do
Read both shapes in the reward function, or make the dataset's prompts what it expects.
## How it is found
In a log: by exceptions about strings and lists whose innermost frame is the user's own, called by the trainer to
compute rewards.
## References
https://huggingface.co/docs/trl/dataset_formats
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/unslothai/unsloth/issues/2907
https://github.com/huggingface/trl/issues/4202
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT028", name="completion-shape-mistaken", severity=ERROR, since="0.1")

_REWARDS = (
    r"(?:grpo_trainer|GRPOTrainer)\.py:"
    r"_?(?:calculate_rewards|generate_and_score_completions|prepare_inputs|score_completions)"
    r"|slime[\\/]rollout[\\/]rm_hub[\\/]__init__\.py:"
)

SIGNATURES = (
    Signature(r"^TypeError: string indices must be integers", frame=_REWARDS, own_code=True),
    Signature(r"^AttributeError: 'str' object has no attribute '(?:get|keys|items)'", frame=_REWARDS, own_code=True),
    Signature(
        r"^AttributeError: '(?P<shape>list|dict)' object has no attribute "
        r"'(?:strip|split|lower|upper|find|startswith|endswith|replace|count|splitlines|encode)'",
        frame=_REWARDS,
        own_code=True,
    ),
    Signature(
        r'^TypeError: can only concatenate (?P<shape>list) \(not "str"\) to list',
        frame=_REWARDS,
        own_code=True,
    ),
    Signature(
        r"^TypeError: expected string or bytes-like object(?:, got '(?P<shape>list|dict)')?$",
        frame=_REWARDS,
        own_code=True,
    ),
)

TEXT = Message(
    en=Words(
        "the reward function reads completions as messages, and they are plain text",
        "Completions have the shape of the prompts: the `prompt` column holds strings here (or was turned into text "
        "before the trainer saw it), so `completion[0]['content']` indexes a character.",
        "Read the text itself: `text = completion if isinstance(completion, str) else completion[0]['content']`; or "
        'make the prompts messages: `{{"prompt": [{{"role": "user", "content": ...}}]}}` with a tokenizer that has '
        "a chat template, and do not apply the template yourself.",
    ),
    zh=Words(
        "奖励函数把回答当作消息读取,而它们是纯文本",
        "回答的形式与提示一致:这里 `prompt` 列是字符串(或在交给训练器之前已被转换成文本),"
        "因此 `completion[0]['content']` 取到的是一个字符。",
        "直接读取文本:`text = completion if isinstance(completion, str) else completion[0]['content']`;或把提示写成"
        '消息:`{{"prompt": [{{"role": "user", "content": ...}}]}}`,使用带聊天模板的分词器,并且不要自己套用模板。',
    ),
)

MESSAGES = Message(
    en=Words(
        "the reward function reads completions as text, and they are lists of messages",
        "Completions have the shape of the prompts: the `prompt` column holds messages, so each completion is "
        '`[{{"role": "assistant", "content": ...}}]`. A column of the dataset that holds lists can look the same.',
        "Take the text out first: `text = completion if isinstance(completion, str) else completion[0]['content']`; or "
        "make the prompts plain strings.",
    ),
    zh=Words(
        "奖励函数把回答当作文本读取,而它们是消息列表",
        '回答的形式与提示一致:`prompt` 列是消息,因此每个回答是 `[{{"role": "assistant", "content": ...}}]`。'
        "数据集中内容为列表的列也会有同样的表现。",
        "先取出文本:`text = completion if isinstance(completion, str) else completion[0]['content']`;或把提示改为普"
        "通字符串。",
    ),
)

_INSTALLED = re.compile(r"(?:site|dist)-packages[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Only where the user's own function (or `re`, called by it) raised below the trainer."""
    frames = list(hits.first.frames)
    trainer = max((index for index, frame in enumerate(frames) if re.search(_REWARDS, frame)), default=None)
    if trainer is None or all(_INSTALLED.search(frame) for frame in frames[trainer + 1 :]):
        return None
    text = bool(hits.of(0) or hits.of(1))
    return found(PROBLEM, TEXT if text else MESSAGES, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
