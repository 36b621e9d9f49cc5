"""The chat template rewrites earlier turns, so that a rollout of several turns is no continuation of itself.

## What it means
A trainer that tokenizes a conversation turn by turn needs the tokens of the first turns to stay what they were. The
templates of Qwen3 and other reasoning models take the thinking out of all answers but the last: with each new turn the
tokens before it change.
## What it does to a run
An assertion ends it at the first rollout of more than one turn; with a single turn nothing is seen.
## What to do
Use a template that keeps the thinking, or a framework release that hands tokens on instead of tokenizing again.
## How it is found
In a log: by the assertion of the verifiers library.
## References
https://github.com/PrimeIntellect-ai/prime-rl/issues/947
https://github.com/PrimeIntellect-ai/prime-rl/issues/1334
https://github.com/PrimeIntellect-ai/prime-rl/pull/1315
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RLX028", name="template-rewrites-history", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: Token prefix mismatch\b"),
    Signature(r"^\s{1,16}assert token_prefix_with_turn\[: ?len\(token_prefix\)\] == token_prefix"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the chat template changes the tokens of earlier turns of a conversation",
        "The rollout is tokenized turn by turn, and the tokens of the turns so far are no longer the beginning of the "
        "longer conversation. The templates of Qwen3 and its kin strip the thinking from all answers but the last.",
        "Take a model or a `chat_template.jinja` that only appends (Qwen2.5's; copies of Qwen3 with such a template, "
        "`PrimeIntellect/Qwen3-...`, `willcb/Qwen3-...`): `tokenizer.chat_template = open(FILE).read()` in trainer "
        "and server alike. Or upgrade: verifiers 0.1.8 and newer record each turn by itself (`pip install -U "
        "verifiers`). To see it: compare `apply_chat_template(messages[:i])` for growing i.",
    ),
    zh=Words(
        "聊天模板改变了对话中先前轮次的 token",
        "rollout 逐轮分词,而此前各轮的 token 不再是更长对话的开头。Qwen3 等模型的模板会去掉除最后一个回答之外所有回答中"
        "的思考内容。",
        "使用只追加的模型或 `chat_template.jinja`(Qwen2.5 的模板;带这种模板的 Qwen3 副本 `PrimeIntellect/Qwen3-...`"
        "、`willcb/Qwen3-...`):训练端与服务器都设置 `tokenizer.chat_template = open(FILE).read()`。或升级:verifiers "
        "0.1.8 及以上单独记录每一轮(`pip install -U verifiers`)。可对逐渐增大的 i 比较 `apply_chat_template(messages["
        ":i])`。",
    ),
)
