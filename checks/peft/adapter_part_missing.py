"""An adapter's file lacks a layer that its configuration says was trained whole.

## What it means
`modules_to_save` names layers (a head, the embeddings) that are trained and saved beside the low-rank matrices. The
adapter's configuration still names them, and the file of weights does not hold them.
## What it does to a run
KeyError when the adapter is loaded.
## What to do
Save through PEFT, or take the name out of the configuration.
## How it is found
In a log: by the KeyError where PEFT restores these layers.
## References
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/utils/save_and_load.py
https://github.com/potamides/AutomaTikZ/issues/19
https://github.com/huggingface/peft/issues/3592
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT015", name="adapter-part-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: 'base_model\.model\.(?P<part>[\w.]{1,160})'$",
        frame=r"peft[\\/]utils[\\/]save_and_load\.py:set_peft_model_state_dict$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the adapter's file has no `{part}`, which its configuration lists in `modules_to_save`",
        "Such layers are trained whole and belong into the adapter's file. They are left out when it is written by "
        "hand (`save_file` of a filtered state dict), gathered without them under ZeRO-3, or when one state dict in "
        "memory is loaded a second time (PEFT up to 0.20 removes them from it).",
        "Write it by `model.save_pretrained(DIR)` (under DeepSpeed with the gathered `state_dict=`), and for several "
        "loads of one state dict pass `dict(state_dict)`. If the layer was never trained, delete it from "
        "`modules_to_save` in adapter_config.json.",
    ),
    zh=Words(
        "适配器文件中没有 `{part}`,而其配置的 `modules_to_save` 列出了它",
        "这类层被完整训练,应包含在适配器文件中。手工写出(对过滤后的 state dict 用 `save_file`)、ZeRO-3 下聚合时漏掉,或"
        "同一个内存中的 state dict 被加载第二次(PEFT 0.20 及以前会从中删除它们)时会缺失。",
        "用 `model.save_pretrained(DIR)` 写出(DeepSpeed 下传入聚合后的 `state_dict=`);同一个 state dict 要加载多次时传"
        "入 `dict(state_dict)`。若该层从未训练,从 adapter_config.json 的 `modules_to_save` 中删除它。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the layer by its last parts."""
    part = ".".join((hits.get("part") or "").split(".")[-3:])
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, part=part)
