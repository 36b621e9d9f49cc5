"""A function was handed an argument whose name holds a hyphen.

## What it means
Names of Python's arguments have underscores; hyphens belong to the command line. The name came out of a dictionary:
a YAML or JSON file, `--model_args`, `engine_kwargs`, and was passed on with `**`.
## What it does to a run
The call ends with `got an unexpected keyword argument`, though the function has that argument under its own name.
## What to do
Write it with underscores.
## How it is found
In a log: by the exception, whose name holds a hyphen.
## References
https://github.com/EleutherAI/lm-evaluation-harness/pull/2738
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT049", name="keyword-with-hyphen", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?P<function>[\w.]{1,120})\(\) got an unexpected keyword argument"
        r" '(?P<name>[A-Za-z]\w{0,40}(?:-\w{1,40}){1,8})'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was passed as an argument: arguments in Python have underscores, not hyphens",
        "`{function}` takes names as Python writes them. `{name}` is the spelling of the command line; it came out of "
        "a configuration file, a dictionary or `key=value` text and was passed on as it stood.",
        "Write `{underscored}` there. If `{function}` then refuses that name too, the installed release does not have "
        "the argument.",
    ),
    zh=Words(
        "参数名写成了 `{name}`:Python 的参数名用下划线而不是连字符",
        "`{function}` 接受 Python 写法的名称。`{name}` 是命令行写法;它来自配置文件、字典或 `key=value` 文本,被原样"
        "传入。",
        "在那里写成 `{underscored}`。若 `{function}` 仍不接受,则所装版本没有该参数。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the name as it should be written."""
    name = hits.get("name") or ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, name=name,
        function=hits.get("function") or "", underscored=name.replace("-", "_"),
    )  # fmt: skip
