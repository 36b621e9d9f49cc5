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

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT020", name="chat-roles-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:TemplateError|UndefinedError|ValueError): (?:After the optional system message,"
        r" c|C)onversation roles must alternate",
    ),
    Signature(r"TemplateError: System role not supported"),
    Signature(r"TemplateError: Only user and assistant roles are supported"),
    Signature(r"TemplateError: (?:No user query found in messages|Only user, assistant)"),
    Signature(r"TemplateError: This model only supports (?P<tools>single tool-calls) at once"),
    Signature(r"AssertionError: response_role: \"(?P<given>\w{1,20})\"", frame=r"swift[\\/](?:llm[\\/])?template[\\/]"),
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

TOOLS = Message(
    en=Words(
        "the model's chat template takes one tool call in a message, and a message holds several",
        "Templates of the Llama 3 family write a single call for each turn of the assistant. The model itself may have "
        "asked for several at once, or the dataset brings such turns.",
        "Ask for one at a time (`parallel_tool_calls=False` in the request), keep the first call of each message "
        "before "
        "it goes back into the conversation, or split the turn into several; or take a template that writes lists of "
        "calls (`--chat-template`, vLLM's `examples/tool_chat_template_*.jinja`).",
    ),
    zh=Words(
        "该模型的聊天模板一条消息只接受一个工具调用,而某条消息含有多个",
        "Llama 3 系列的模板在 assistant 的每一轮只写一个调用。可能是模型一次请求了多个,也可能数据集中有这样的轮次。",
        "一次只请求一个(请求中 `parallel_tool_calls=False`),在放回对话前只保留每条消息的第一个调用,或拆成多轮;或使用支"
        "持调用"
        "列表的模板(`--chat-template`,vLLM 的 `examples/tool_chat_template_*.jinja`)。",
    ),
)
ANSWER = Message(
    en=Words(
        "ms-swift meets a message of `{given}` where an answer of the assistant must stand",
        "It takes a conversation in pairs: a query (user or tool), then the assistant. Here a `{given}` message "
        "follows a "
        "query directly, or ends the conversation: a truncated multi-turn rollout that was cut off at the front, a "
        "tool "
        "result without the assistant's call before it, or a row of the dataset in the wrong order.",
        "Look at the messages of that row or rollout: each tool result must follow an assistant message with its call. "
        "Keep whole turns when a conversation is cut (raise `max_length`, lower the number of turns), and call only "
        "tools that exist.",
    ),
    zh=Words(
        "ms-swift 在应为 assistant 回答的位置遇到 `{given}` 消息",
        "它按对读取对话:先是 query(user 或 tool),再是 assistant。此处 `{given}` 消息紧跟 query,或位于对话末尾:多轮 "
        "rollout "
        "被从前面截断,tool 结果之前缺少 assistant 的调用,或数据集中某行顺序有误。",
        "查看该行或该 rollout 的 messages:每个 tool 结果都必须跟在带调用的 assistant 消息之后。截断对话时保留完整的轮次"
        "(增大 `max_length`,减少轮数),并只调用存在的工具。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The model's template refuses, or ms-swift's own."""
    given = hits.get("given")
    return found(
        PROBLEM,
        ANSWER if given else TOOLS if hits.get("tools") else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        given=given,
    )
