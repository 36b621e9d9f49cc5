"""jsonschema is too old for what imports it.

## What it means
`jsonschema.protocols` came with jsonschema 4.0. An older one stays installed where something else pins it
or the distribution's packages lie in front.
## What it does to a run
Importing outlines, and with it vLLM's structured output, fails.
## What to do
Upgrade it.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/6486
https://github.com/python-jsonschema/jsonschema/blob/main/CHANGELOG.rst
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT019", name="jsonschema-too-old", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"No module named 'jsonschema\.(?P<part>protocols|validators|exceptions)'"),
    Signature(r"cannot import name '(?P<part>Draft20\d{4}Validator)' from 'jsonschema"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed jsonschema is too old: it has no `{part}`",
        "outlines, which vLLM uses for structured output, needs jsonschema 4 or newer. An old one is "
        "installed, or the system's lies in front of it.",
        "`pip install -U 'jsonschema>=4.21'` in the environment that runs; if it stays old, see with "
        "`python -c 'import jsonschema; print(jsonschema.__file__)'` where it comes from.",
    ),
    zh=Words(
        "已安装的 jsonschema 太旧:没有 `{part}`",
        "vLLM 的结构化输出所用的 outlines 需要 jsonschema 4 及以上。当前安装的是旧版,或系统自带的旧版排在前面。",
        "在所用环境中执行 `pip install -U 'jsonschema>=4.21'`;若仍是旧版,用 `python -c 'import "
        "jsonschema; print(jsonschema.__file__)'` 查看来源。",
    ),
)

LOG_COMMANDS = ("pip install -U jsonschema",)
