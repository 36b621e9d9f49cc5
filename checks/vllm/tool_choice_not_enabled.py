"""Tools are sent to a server that was started without a tool parser.

## What it means
vLLM reads tool calls out of a model's text with a parser that belongs to the model. It must be named when
the server starts.
## What it does to a run
Every request with tools is refused.
## What to do
Start the server with a parser.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/tool_calling/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL047", name="tool-choice-not-enabled", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),)

LOG_MESSAGE = Message(
    en=Words(
        "a request with tools was sent to a vLLM that was started without a tool parser",
        '`tool_choice="auto"` is what clients send with tools, and the server needs to know how the '
        "model writes its calls.",
        "Start it with `--enable-auto-tool-choice --tool-call-parser NAME` (hermes for Qwen, "
        "llama3_json, mistral ...); for a trainer that parses calls itself send no `tools`.",
    ),
    zh=Words(
        "向启动时没有工具解析器的 vLLM 发送了带工具的请求",
        '客户端发送工具时会使用 `tool_choice="auto"`,服务器需要知道模型如何书写调用。',
        "用 `--enable-auto-tool-choice --tool-call-parser NAME` 启动(Qwen 用 hermes,另有 llama3_json、"
        "mistral 等);若训练器自行解析调用,则不要发送 `tools`。",
    ),
)

LOG_COMMANDS = ("--enable-auto-tool-choice --tool-call-parser hermes",)
