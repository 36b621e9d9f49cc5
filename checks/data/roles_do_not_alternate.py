"""The chat template of the model refuses the roles of a conversation.

## What it means
Templates of Mistral, Gemma and Llama 2 demand that user and assistant take turns, and some have no place
for a system message. They raise from inside Jinja.
## What it does to a run
The first batch, or the preparation of the data, ends with a TemplateError.
## What to do
Merge consecutive messages of one role, move the system text into the first user message, and begin with the
user.
## How it is found
In a log: by the exception of the template.
## References
https://huggingface.co/docs/transformers/chat_templating
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT020", name="chat-roles-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:TemplateError|UndefinedError|ValueError): (?:After the optional system message,"
        r" c|C)onversation roles must alternate",
    ),
    Signature(r"TemplateError: System role not supported"),
    Signature(r"TemplateError: Only user and assistant roles are supported"),
    Signature(r"TemplateError: (?:No user query found in messages|Only user, assistant)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the chat template refuses the roles of a conversation in the dataset",
        "The model's template wants messages of user and assistant in turns, beginning with the user, "
        "and may have no place for a system message; a row of the dataset breaks that.",
        "Merge consecutive messages of one role, put the system text in front of the first user message, "
        "and see that each prompt ends with a user message; or set a template without these checks on "
        "`tokenizer.chat_template`.",
    ),
    zh=Words(
        "聊天模板拒绝数据集中某个对话的角色顺序",
        "该模型的模板要求 user 与 assistant 轮流出现并由 user 开始,可能也不支持 system 消息;数据集中的某"
        "一行违反了这一点。",
        "合并同一角色的连续消息,把 system 文本放到第一条 user 消息之前,并确保每个 prompt 以 user 消息结尾"
        ";或在 `tokenizer.chat_template` 上设置没有这些检查的模板。",
    ),
)
