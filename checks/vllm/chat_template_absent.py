"""A conversation is sent to a server whose tokenizer has no chat template.

## What it means
Base models come without a chat template, and Transformers no longer has a default one.
## What it does to a run
Every chat request is refused; plain completions work.
## What to do
Give the server a template, or send plain prompts.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/serving/openai_compatible_server/#chat-template
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL045", name="chat-template-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"As of transformers v4\.44, default chat template is no longer allowed"),)

LOG_MESSAGE = Message(
    en=Words(
        "a conversation was sent to a model whose tokenizer has no chat template",
        "Base models have none, and a checkpoint that was saved without its tokenizer lost it.",
        "Start the server with `--chat-template FILE.jinja`, set `tokenizer.chat_template` and save the "
        "tokenizer with the model, use the instruct version of the model, or send plain prompts "
        "(`/v1/completions`).",
    ),
    zh=Words(
        "向分词器没有聊天模板的模型发送了对话",
        "基础模型没有聊天模板;保存检查点时没有保存分词器也会丢失它。",
        "用 `--chat-template FILE.jinja` 启动服务器;设置 `tokenizer.chat_template` 并与模型一起保存分词器"
        ";使用该模型的 instruct 版本;或发送普通 prompt(`/v1/completions`)。",
    ),
)

LOG_COMMANDS = ("--chat-template FILE.jinja",)
