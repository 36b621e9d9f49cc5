"""Judges LCH6560/llamafactory, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: where it checks arguments, and the model against them
_FILES = r"(?:llamafactory|llmtuner)[\\/](?:hparams|model)[\\/](?:model_utils[\\/])?\w{1,40}\.py:"


#: what a refusal that names no option asks for: (words of the refusal, English, Chinese)
#: https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/model/model_utils/quantization.py
_ASKED = (
    (
        r"PTQ-quantized|HQQ quantization is|EETQ quantization is",
        (
            "ZeRO-3 and FSDP do not take a checkpoint that is quantized already (GPTQ, AWQ, HQQ): use ZeRO-2 or "
            "the unquantized model with `quantization_bit: 4`. "
        ),
        (
            "ZeRO-3 和 FSDP 不支持已量化的检查点(GPTQ、AWQ、HQQ):使用 ZeRO-2,或使用未量化的模型并设 "
            "`quantization_bit: 4`。"
        ),
    ),
    (
        r"[Qq]uantized models? (?:can only be used for|only accepts?)|Cannot (?:resize|initialize) [^\n]{3,40} quant",
        (
            "A quantized model is trained by one LoRA adapter: `finetuning_type: lora`, one `adapter_name_or_path`, "
            "without `resize_vocab` and PiSSA; for anything else take the unquantized model. "
        ),
        (
            "量化模型只能用一个 LoRA 适配器:`finetuning_type: lora`,一个 `adapter_name_or_path`,不用 `resize_vocab` "
            "和 PiSSA;其他方式请使用未量化的模型。"
        ),
    ),
    (
        r"accepts a single adapter|Cannot use multiple adapters",
        "Give one `adapter_name_or_path`; merge the others into the model before (`llamafactory-cli export`). ",
        "只给一个 `adapter_name_or_path`;其余先合并进模型(`llamafactory-cli export`)。",
    ),
)

_NAMED = re.compile(r"`([\w.\-]{2,40}(?:=[\w.\-]{1,40})?)`|\b((?:[a-z]+_)+[a-z]+)\b")


def explain(hits: Hits) -> Finding | None:
    """Name the options that the exception names, and the value where it says one."""
    if not hits.first.frames or not re.search(_FILES, hits.first.frames[-1]):
        return None
    names = list(dict.fromkeys(a or b for a, b in _NAMED.findall(hits.first.text)))[:3]
    listed = ", ".join(f"`{name}`" for name in names)
    value = next((name for name in names if "=" in name), "")
    asked = next((each for each in _ASKED if re.search(each[0], hits.first.text)), ("", "", ""))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if "hparams" in hits.first.frames[-1] else LIKELY,
        names=names, listed=listed, change=f"It asks for `{value.replace('=', ': ')}`. " if value else asked[1],
        change_zh=f"它要求 `{value.replace('=', ': ')}`。" if value else asked[2],
    )  # fmt: skip
