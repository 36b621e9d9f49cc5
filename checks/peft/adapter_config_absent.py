"""The folder or repository holds no adapter.

## What it means
An adapter is a folder with `adapter_config.json` and weights. A merged model, the output folder above its
`checkpoint-N`, or a path that does not exist has none.
## What it does to a run
PEFT raises ValueError when the adapter is loaded.
## What to do
Give the folder that holds `adapter_config.json`, usually `OUTPUT/checkpoint-N`; load a merged model with
Transformers alone.
## How it is found
In a log: by PEFT's exception.
## References
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/config.py
https://huggingface.co/docs/peft/developer_guides/checkpoint
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT007", name="adapter-config-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Can't find 'adapter_config\.json' at '(?P<path>[^'\n]{0,300})'", symptom_of=("HUB009",)),
    Signature(r"ValueError: Can't find weights for (?P<path>[^\s]{1,300}) in "),
)

LOG_MESSAGE = Message(
    en=Words(
        "no LoRA adapter at `{path}`",
        "The folder (or repository) has no `adapter_config.json` with weights beside it: it is a merged model, the "
        "folder above the checkpoints, or it does not exist on this machine. PEFT says the same of a name on the hub "
        "that it could not ask for: no network, no token for a private repository.",
        "List it (`ls {path}`) and give the folder that holds `adapter_config.json`, usually "
        "`.../checkpoint-N`; a merged model is loaded with `AutoModelForCausalLM.from_pretrained` alone.",
    ),
    zh=Words(
        "`{path}` 处没有 LoRA 适配器",
        "该目录(或仓库)没有 `adapter_config.json` 及其权重:它是合并后的模型、检查点的上级目录,或在本机不存在。无法访问 "
        "hub 上的名称时(没有网络,私有仓库没有 token)PEFT 也会这样说。",
        "列出其内容(`ls {path}`),并给出含有 `adapter_config.json` 的目录,通常为 `.../checkpoint-N`;合并后"
        "的模型直接用 `AutoModelForCausalLM.from_pretrained` 加载。",
    ),
)

#: a name on the hub, which a folder may look like as well
_ON_HUB = re.compile(r"[\w\-][\w.\-]*/[\w.\-]+")


def explain(hits: Hits) -> Finding:
    """A path with a root can be a folder only; of other names the hub may not have been reached."""
    path = hits.get("path") or ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), path=path,
        confidence=LIKELY if _ON_HUB.fullmatch(path) else CONFIRMED,
    )  # fmt: skip
