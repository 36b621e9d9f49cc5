"""The chat template failed on a conversation.

## What it means
The template is a program in Jinja that reads `role`, `content`, `tool_calls` and `tools` of each message. Conversations
of another shape, or arguments that are text where it wants a mapping, end it with an exception of Jinja or Python.
## What it does to a run
The run or the request ends; a server answers with an error and goes on.
## What to do
Bring the conversations into the shape that the template reads.
## How it is found
In a log: by exceptions of Jinja, and by others that are raised in `<template>`.
## References
https://huggingface.co/docs/transformers/chat_templating
https://huggingface.co/docs/trl/dataset_formats
https://github.com/unslothai/notebooks/issues/120
https://github.com/ByteDance-Seed/seed-oss/issues/10
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT046", name="chat-template-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^(?:jinja2\.exceptions\.)?UndefinedError: (?P<what>[^\n]{3,200})",
        Message(
            en=Words(
                "the chat template read something that the conversation does not have: {what}",
                "It expects a list of messages, each with `role` and `content` (and `tools`, `tool_calls` in its "
                "own form). A list of conversations (a column of a dataset), a bare string, ShareGPT's `from` "
                "and `value`, or null content are no such thing.",
                'Apply it row by row: `dataset.map(lambda row: {{"text": '
                'tokenizer.apply_chat_template(row["messages"], tokenize=False)}})`; with datasets 4 make a '
                'column a list first (`list(dataset["conversations"])`). Rename `from`/`value` to '
                "`role`/`content` (TRL: `maybe_convert_to_chatml`), and give every message a string.",
            ),
            zh=Words(
                "聊天模板读取了对话中没有的内容:{what}",
                "它需要消息列表,每条消息有 `role` 和 `content`(以及符合其格式的 `tools`、`tool_calls`)。对话的列"
                "表(数据集的一列)、单个字符串、ShareGPT 的 `from` 和 `value`,或空的 content 都不符合。",
                '逐行应用:`dataset.map(lambda row: {{"text": tokenizer.apply_chat_template(row["messages"], '
                'tokenize=False)}})`;在 datasets 4 中先把列转成列表(`list(dataset["conversations"])`)。把 '
                "`from`/`value` 改名为 `role`/`content`(TRL:`maybe_convert_to_chatml`),并让每条消息都是字符串。",
            ),
        ),
    ),
    (
        (
            r"^TypeError: (?P<what>Can only get item pairs from a mapping|can only concatenate str \(not "
            r".\w{1,20}.\) to str|Object of type \w{1,40} is not JSON serializable|\w{1,20} object is not "
            r"iterable)"
        ),
        Message(
            en=Words(
                "the chat template met a field of another type than it handles",
                "`arguments` of a tool call is text where the template goes through a mapping (or the other "
                "way), or content is a list of parts where it wants a string, or null.",
                "In messages with tool calls give `arguments` as a mapping (`json.loads(arguments)`), as "
                'templates of Transformers want it; OpenAI\'s form has text. Give `content` as a string (`""` in '
                "place of null). For a server choose how content is handed over: `--chat-template-content-format "
                "string`, or a template that handles both: `--chat-template FILE`.",
            ),
            zh=Words(
                "聊天模板遇到了它不能处理的字段类型",
                "工具调用的 `arguments` 是文本而模板按映射遍历(或相反),或 content 是分段列表而模板需要字符串,或为"
                " null。",
                "在含工具调用的消息中,按 Transformers 模板的要求把 `arguments` 写成映射"
                '(`json.loads(arguments)`);OpenAI 的形式是文本。`content` 写成字符串(用 `""` 代替 null)。服务器可'
                "指定内容的传递方式:`--chat-template-content-format string`,或使用两者都支持的模板"
                ":`--chat-template FILE`。",
            ),
        ),
    ),
    (
        r"continue_final_message is set but (?:the final message does not appear in the chat after|we could not find)",
        Message(
            en=Words(
                "the last message is to be continued, and the chat template does not print it as it is",
                "The text of the last message is looked for in what the template made of the conversation. Templates "
                "of reasoning models (Qwen3, GLM, DeepSeek-R1) take `<think>...</think>` out of answers, others trim "
                "white space, and an empty message leaves nothing to find.",
                "Print `tokenizer.apply_chat_template(messages, tokenize=False)` and compare. Do not continue where "
                "the last message is a user's or empty (`add_generation_prompt=True`). With thinking in it, append "
                "the text yourself: `apply_chat_template(messages[:-1], add_generation_prompt=True, tokenize=False) + "
                'messages[-1]["content"]`, or take a template that keeps it.',
            ),
            zh=Words(
                "要续写最后一条消息,而聊天模板没有原样输出它",
                "程序会在模板生成的文本中查找最后一条消息。推理模型(Qwen3、GLM、DeepSeek-R1)的模板会从回答中去掉 "
                "`<think>...</think>`,有的模板会去掉空白,而空消息则无从查找。",
                "打印 `tokenizer.apply_chat_template(messages, tokenize=False)` 进行比较。最后一条是用户消息或为空时不"
                "要续写(改用 `add_generation_prompt=True`)。含思考内容时自行拼接:`apply_chat_template(messages[:-1], "
                'add_generation_prompt=True, tokenize=False) + messages[-1]["content"]`,或使用保留它的模板。',
            ),
        ),
    ),
    (
        r"^(?:jinja2\.exceptions\.)?TemplateSyntaxError: (?P<what>[^\n]{3,200})",
        Message(
            en=Words(
                "the chat template itself is broken: {what}",
                "It was edited, cut, or escaped twice (`tokenizer_config.json` holds it with `\\n` and quotes "
                "escaped), or asks for a newer Jinja.",
                "Take it from the original model again (`chat_template.jinja` or `tokenizer_config.json`), and "
                "`pip install -U jinja2`.",
            ),
            zh=Words(
                "聊天模板本身有错误:{what}",
                "它被修改、截断或二次转义(在 `tokenizer_config.json` 中 `\\n` 和引号已转义),或需要更新的 Jinja。",
                "从原始模型重新获取(`chat_template.jinja` 或 `tokenizer_config.json`),并 `pip install -U jinja2`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0], frame="<template>:"),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
