"""LLaMA-Factory refuses a combination of its arguments.

## What it means
Its parser checks, before anything is loaded, which options go together: stage with adapter, quantization with full
training, packing with streaming, DeepSpeed with device maps.
## What it does to a run
ValueError at once.
## What to do
Set the options as its words say.
## How it is found
In a log: by a ValueError or AssertionError from LLaMA-Factory's `hparams` or `model`.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/hparams/parser.py
https://llamafactory.readthedocs.io/en/latest/advanced/arguments.html
https://github.com/hiyouga/LlamaFactory/issues/2176
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF051", name="llamafactory-refuses-arguments", severity=ERROR, since="0.1")

#: where it checks arguments, and the model against them
_FILES = r"(?:llamafactory|llmtuner)[\\/](?:hparams|model)[\\/](?:model_utils[\\/])?\w{1,40}\.py:"

SIGNATURES = (
    Signature(
        r"^(?:ValueError|AssertionError): (?!(?:transformers|datasets|accelerate|peft|trl)[<>=])\S",
        frame=_FILES,
        symptom_of=("TRF", "DSP", "TRL"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "LLaMA-Factory refuses its arguments{names}",
        "Its parser checks which options go together before it loads the model and names the one that must "
        "change or is missing in the line of the exception. Nothing was trained.",
        "{change}Set it in the YAML or on the command line (`llamafactory-cli train FILE.yaml "
        "option=value`), or take out the option that conflicts with it; `examples/` of the same checkout "
        "holds files that work for each stage.",
    ),
    zh=Words(
        "LLaMA-Factory 拒绝了它的参数{names_zh}",
        "其解析器在加载模型之前检查哪些选项可以并用,并在异常那一行给出必须修改或缺少的选项。没有进行任何训练。",
        "{change_zh}在 YAML 或命令行中设置(`llamafactory-cli train FILE.yaml option=value`),或去掉与之冲突"
        "的选项;同一版本的 `examples/` 中有各阶段可用的文件。",
    ),
)


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
        names=f": {listed}" if names else "", names_zh=f":{listed}" if names else "",
        change=f"It asks for `{value.replace('=', ': ')}`. " if value else asked[1],
        change_zh=f"它要求 `{value.replace('=', ': ')}`。" if value else asked[2],
    )  # fmt: skip
