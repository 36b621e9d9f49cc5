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

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL045", name="chat-template-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"As of transformers v4\.44, default chat template is no longer allowed"),
    Signature(
        r"The supplied chat template (?:string )?\((?P<path>[^\n)]{1,300})\) (?:appears path-like, but doesn't exist"
        r"|looks like a file path, but it failed to be opened)"
    ),
    Signature(r"Chat template (?P<path>\S{1,300}) is not a built-in template name or a valid chat template file path"),
)

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

FILE = Message(
    en=Words(
        "the chat template that was named is no file where the server runs: `{path}`",
        "A path is taken from the folder of the process; the examples of vLLM and SGLang are not in their wheels, and "
        "inside a container only what was mounted exists.",
        "Download the template (for vLLM: `curl -LO "
        "https://raw.githubusercontent.com/vllm-project/vllm/main/examples/tool_chat_template_hermes.jinja`, by "
        "its own name), mount it into the container, and give the absolute path: `--chat-template "
        "/path/to/FILE.jinja`. Leave the option out where the tokenizer has a template.",
    ),
    zh=Words(
        "指定的聊天模板在服务器所在处不是文件:`{path}`",
        "路径相对于进程的当前目录;vLLM 与 SGLang 的示例模板不在其 wheel 中,容器内只有挂载进去的文件。",
        "下载模板(vLLM:`curl -LO "
        "https://raw.githubusercontent.com/vllm-project/vllm/main/examples/tool_chat_template_hermes.jinja`,换成对"
        "应名称),挂载到容器中,并给出绝对路径:`--chat-template /path/to/FILE.jinja`。若分词器自带模板,去掉该选项。",
    ),
)

LOG_COMMANDS = ("--chat-template FILE.jinja",)


def explain(hits: Hits) -> Finding:
    """No template at all, or one that was named and is not there."""
    path = hits.get("path")
    return found(
        PROBLEM,
        FILE if path else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=() if path else LOG_COMMANDS,
        path=path or "",
    )
