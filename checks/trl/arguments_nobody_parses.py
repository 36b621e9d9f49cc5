"""The command line or configuration file holds arguments that no class of the script has.

## What it means
`HfArgumentParser` and `TrlParser` fill dataclasses (training configuration, model configuration, the script's own) and
refuse what none of them has: a misspelt name, an argument of another script, of another release, or one of the
launcher behind the script's name.
## What it does to a run
ValueError before anything is loaded.
## What to do
Mend or drop the argument; `--help` of the script lists them all.
## How it is found
In a log: by the parsers' exceptions, where no release of TRL or Transformers has or had such an argument.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/hf_argparser.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/scripts/utils.py
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL064", name="arguments-nobody-parses", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Some specified arguments are not used by the HfArgumentParser: \[(?P<names>[^\]\n]{1,400})\]",
        symptom_of=("TRL001", "TRL002", "TRL003", "TRF001", "TRF003", "TRF004"),
    ),
    Signature(r"ValueError: Some keys are not used by the HfArgumentParser: \[(?P<names>[^\]\n]{1,400})\]"),
    Signature(r"ValueError: Unknown arguments from config file: \[(?P<names>[^\]\n]{1,400})\]"),
)

LOG_MESSAGE = Message(
    en=Words(
        "{names}: no dataclass of the script has such an argument",
        "The parser fills the script's dataclasses and refuses the rest. Values that follow an unknown name, and what "
        "stands after a lost dash or backslash, are listed too.",
        "Correct the spelling against `--help` of the script, drop what belongs to another script or to the launcher "
        "(those stand before the script's name), or add a field to the script's dataclass. An argument of newer "
        "documentation needs `pip install -U trl transformers`.",
    ),
    zh=Words(
        "{names}:脚本的任何 dataclass 都没有这样的参数",
        "解析器只填充脚本的 dataclass,其余一概拒绝。未知名称之后的值,以及漏写短横线或反斜杠后的内容也会被列出。",
        "对照脚本的 `--help` 改正拼写;去掉属于其他脚本或启动器的参数(启动器的参数写在脚本名之前);"
        "或在脚本的 dataclass 中增加字段。文档中较新的参数需要 `pip install -U trl transformers`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the arguments; mere values only where no name is among them."""
    words = re.findall(r"['\"]([^'\"\n]{1,60})['\"]", hits.get("names") or "")
    names = [each for each in words if each.startswith("-")] or words
    if not names:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        names=", ".join(f"`{each}`" for each in names[:4]),
    )  # fmt: skip
