"""LLaMA-Factory refuses a combination of its arguments.

## What it means
Its parser checks, before anything is loaded, which options go together: stage with adapter, quantization with full
training, packing with streaming, DeepSpeed with device maps.
## What it does to a run
ValueError at once.
## What to do
Set the options as its words say.
## How it is found
In a log: by a ValueError from LLaMA-Factory's `hparams`.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/hparams/parser.py
https://llamafactory.readthedocs.io/en/latest/advanced/arguments.html
https://github.com/hiyouga/LlamaFactory/issues/2176
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF051", name="llamafactory-refuses-arguments", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^ValueError: (?!(?:transformers|datasets|accelerate|peft|trl)[<>=])\S",
        frame=r"(?:llamafactory|llmtuner)[\\/]hparams[\\/]\w{1,40}\.py:",
        symptom_of=("TRF", "DSP", "TRL"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "LLaMA-Factory refuses the combination of its arguments{names}",
        "Its parser checks which options go together before it loads the model and names the one that must "
        "change or is missing in the line of the exception. Nothing was trained.",
        "{change}Set it in the YAML or on the command line (`llamafactory-cli train FILE.yaml "
        "option=value`), or take out the option that conflicts with it; `examples/` of the same checkout "
        "holds files that work for each stage.",
    ),
    zh=Words(
        "LLaMA-Factory 拒绝其参数的组合{names_zh}",
        "其解析器在加载模型之前检查哪些选项可以并用,并在异常那一行给出必须修改或缺少的选项。没有进行任何训练。",
        "{change_zh}在 YAML 或命令行中设置(`llamafactory-cli train FILE.yaml option=value`),或去掉与之冲突"
        "的选项;同一版本的 `examples/` 中有各阶段可用的文件。",
    ),
)


_NAMED = re.compile(r"`([\w.\-]{2,40}(?:=[\w.\-]{1,40})?)`|\b((?:[a-z]+_)+[a-z]+)\b")


def explain(hits: Hits) -> Finding | None:
    """Name the options that the exception names, and the value where it says one."""
    if not hits.first.frames or not re.search(r"hparams[\\/]\w+\.py:", hits.first.frames[-1]):
        return None
    names = list(dict.fromkeys(a or b for a, b in _NAMED.findall(hits.first.text)))[:3]
    listed = ", ".join(f"`{name}`" for name in names)
    value = next((name for name in names if "=" in name), "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        names=f": {listed}" if names else "", names_zh=f":{listed}" if names else "",
        change=f"It asks for `{value.replace('=', ': ')}`. " if value else "",
        change_zh=f"它要求 `{value.replace('=', ': ')}`。" if value else "",
    )  # fmt: skip
