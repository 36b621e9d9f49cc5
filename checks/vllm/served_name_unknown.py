"""A request names a model that the server does not serve.

## What it means
A server answers to the name that `--served-model-name` gives, else to exactly the text that it was started
with: a path stays a path.
## What it does to a run
Every request ends with 404.
## What to do
Use the served name.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL048", name="served-name-unknown", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"The model `(?P<name>[^`\n]{1,300})` does not exist\."),)

LOG_MESSAGE = Message(
    en=Words(
        "the server serves no model of the name `{name}`",
        "It answers to the name of `--served-model-name`, or to exactly the text that it was started "
        "with (a path is a name, too), and to the names of its adapters.",
        "Ask it: `curl http://HOST:8000/v1/models`. Send that name, or start it with "
        "`--served-model-name {name}`; for an adapter with `--lora-modules {name}=PATH`.",
    ),
    zh=Words(
        "服务器没有名为 `{name}` 的模型",
        "它使用 `--served-model-name` 指定的名称,否则就是启动时的原文(路径也是名称),以及适配器的名称。",
        "查询:`curl http://HOST:8000/v1/models`。请求中使用该名称,或用 `--served-model-name {name}` 启动;"
        "适配器则用 `--lora-modules {name}=PATH`。",
    ),
)

LOG_COMMANDS = ("curl http://127.0.0.1:8000/v1/models",)
