"""A library says that a feature takes a newer release of another package.

## What it means
Libraries ask for the version of an optional package at the moment when a setting needs it, and name the release that
brought it.
## What it does to a run
ImportError or ValueError when the feature is used; the package imports and works otherwise.
## What to do
Install the release that is named, or switch off the setting that needs it.
## How it is found
In a log: by a sentence of the form "FEATURE requires PACKAGE >= VERSION".
## References
https://github.com/huggingface/accelerate/blob/v1.10.0/src/accelerate/accelerator.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/utils/quantization_config.py
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/model/patcher.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT031", name="feature-needs-newer-package", severity=ERROR, since="0.1")

_PACKAGE = (
    r"(?P<package>[Pp]y[Tt]orch|torch(?:vision|audio|ao|data)?|transformers|accelerate|peft|trl|vllm|deepspeed"
    r"|DeepSpeed|optimum|gptqmodel|auto[-_]?gptq|autoawq|kernels|liger[-_]kernel|xformers|triton|datasets|tokenizers"
    r"|huggingface[-_]hub|safetensors|bitsandbytes|compressed[-_]tensors|numpy|pydantic|ray|sglang|flashinfer|unsloth"
    r"|qwen[-_]vl[-_]utils|timm|scipy|megatron[-_]core|mcore[-_]bridge|mcore[-_]adapter|transformer[-_]engine|xgrammar"
    r"|llguidance|outlines|mistral[-_]common|tiktoken|sentencepiece|protobuf|cut[-_]cross[-_]entropy|modelscope|jinja2)"
)
_VERSION = r"`?v?(?P<version>\d{1,4}\.\d{1,4}(?:\.\w{1,8}){0,2})"
_KIND = r"(?:ImportError|ValueError|RuntimeError|AssertionError|NotImplementedError|VersionConflict): "
_OTHERS = ("FSD001", "TRF", "FLA", "VLL", "BNB", "DSP", "TRL", "PYT025", "PYT030")

SIGNATURES = (
    Signature(
        _KIND + r"(?P<what>[^\n]{2,160}?) (?:requires?|needs?)(?: at least| the)? [`'\"]?" + _PACKAGE
        + r"[`'\"]?(?: library)?(?: version)? ?(?:>=|>|(?P<exact>==)|at least)? ?" + _VERSION,
        symptom_of=_OTHERS,
    ),
    Signature(
        _KIND + r"[`'\"]?" + _PACKAGE + r" ?(?:>=|>) ?" + _VERSION
        + r"[`'\"]? (?:is required|must be installed|is needed) (?:for|to)"
        r" (?P<what>(?!a normal)[^\n]{2,120}?)(?:\.|,|$)",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"TypeError: process_vision_info\(\) got an unexpected keyword argument "
        r"'(?P<vision>image_patch_size|return_video_metadata)'"
    ),
)  # fmt: skip

LOG_MESSAGE = Message(
    en=Words(
        "a feature that was asked for takes `{name}` {version} or newer",
        "The library looked at the installed release when the setting was used, and it is older (or its version could "
        "not be read).",
        '`python -m pip install -U "{name}>={version}"` with the same `python` that starts the run, on every node, and '
        "`python -m pip check` afterwards; or switch off the setting that needs it. Look at what is there: `python -m "
        "pip show {name}`.",
    ),
    zh=Words(
        "所请求的功能需要 `{name}` {version} 或更新版本",
        "库在使用该设置时检查已安装的版本,而它更旧(或无法读取其版本)。",
        '用启动任务的同一个 `python` 在每个节点上运行 `python -m pip install -U "{name}>={version}"`,之后运行 '
        "`python -m pip check`;或关闭需要它的设置。查看现有版本:`python -m pip show {name}`。",
    ),
)


EXACT = Message(
    en=Words(
        "what was asked for takes `{name}` {version}, that release and no other",
        "The program compared the installed release when it started, and it is another one or absent.",
        '`python -m pip install "{name}=={version}"` with the same `python` that starts the run, on every node, and '
        "`python -m pip check` afterwards: other packages may want another release, so an environment of its own is "
        "safer. Or take a release of the program that goes with what is installed.",
    ),
    zh=Words(
        "所请求的内容只接受 `{name}` {version} 这一版本",
        "程序启动时比较了已安装的版本,而它是另一个版本或没有安装。",
        '用启动任务的同一个 `python` 在每个节点上运行 `python -m pip install "{name}=={version}"`,之后运行 '
        "`python -m pip check`:其他包可能需要别的版本,因此单独的环境更稳妥。或换用与已装版本相配的程序版本。",
    ),
)

#: https://github.com/QwenLM/Qwen3-VL#using--transformers-to-chat
VISION = Message(
    en=Words(
        "`process_vision_info` of the installed qwen-vl-utils does not take `{name}`",
        "The argument came with qwen-vl-utils 0.0.14, with which Qwen3-VL's patches of 16 pixels are prepared; the "
        "installed one is older, and knows the 14 pixels of Qwen2.5-VL only.",
        '`pip install -U "qwen-vl-utils>=0.0.14"` in the environment that trains, and restart. Taking the argument out '
        "instead resizes images for Qwen3-VL to the wrong multiple.",
    ),
    zh=Words(
        "所装 qwen-vl-utils 的 `process_vision_info` 不接受 `{name}`",
        "该参数随 qwen-vl-utils 0.0.14 引入,用于 Qwen3-VL 的 16 像素 patch;所装版本更旧,只知道 Qwen2.5-VL 的 14 像素。",
        '在训练环境中执行 `pip install -U "qwen-vl-utils>=0.0.14"` 并重启。若改为删除该参数,Qwen3-VL '
        "的图像会被缩放到错误的倍数。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The package as the index spells it, and the release that was named first."""
    if vision := hits.get("vision"):
        return found(
            PROBLEM, VISION, where=hits.where(), evidence=hits.evidence(), name=vision,
            commands=('pip install -U "qwen-vl-utils>=0.0.14"',),
        )  # fmt: skip
    name = (hits.get("package") or "").lower().replace("_", "-")
    return found(
        PROBLEM, EXACT if hits.first.groups.get("exact") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        name="torch" if name == "pytorch" else name, version=hits.get("version"),
    )  # fmt: skip
