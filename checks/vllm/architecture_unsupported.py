"""vLLM has no class for the model's architecture.

## What it means
vLLM runs the architectures that it implements, or those of Transformers that fit its general back end. A
model that is newer than the release, or has code of its own, is none of them.
## What it does to a run
The engine ends while it reads config.json.
## What to do
Upgrade vLLM, or use the Transformers back end.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/models/supported_models/
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL044", name="architecture-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Model architectures \[(?P<names>[^\]\n]{1,300})\] are not supported for now"),
    Signature(
        r"ValueError: No (?P<processor>processor) registered for architecture: \[?(?P<names>[^\]\n]{1,300}?)(?:\]|\.$)"
    ),
    Signature(
        r"ValueError: (?P<names>\w{3,100}) has no vLLM implementation and the Transformers implementation is not comp"
    ),
    Signature(r"ValueError: Currently, (?P<names>\w{3,60}) only supports versions? (?P<known>[\d., and]{1,60}\d)"),
    Signature(
        r"Model architecture (?P<names>\w{1,100}) was supported in vLLM until v(?P<last>[\d.]{1,12}),"
        r" and is not supported anymore",
    ),
    Signature(r"(?P<none>No model architectures are specified)\b"),
)

LOG_MESSAGE = Message(
    en=Words(
        "this vLLM has no class for {names}",
        "`architectures` of the model's config.json names a class that the release does not implement: "
        "the model is newer than it, was dropped, or is a reward or value head that your own code added.",
        "Upgrade vLLM to a release that lists the model (`pip install -U vllm`; an older one where it "
        "was dropped), try `--model-impl transformers`, or name a class that fits with `--hf-overrides "
        '\'{{"architectures": ["..."]}}\'`. For GRPO serve the plain causal language model.',
    ),
    zh=Words(
        "此 vLLM 没有 {names} 对应的类",
        "模型 config.json 的 `architectures` 指定了该版本未实现的类:模型比它更新、已被移除,或是自己的代码"
        "添加的 reward、value head。",
        "升级到支持该模型的 vLLM(`pip install -U vllm`;若已移除则使用旧版),尝试 `--model-impl "
        'transformers`,或用 `--hf-overrides \'{{"architectures": ["..."]}}\'` 指定合适的类。GRPO 请提供普通'
        "的因果语言模型。",
    ),
)

SGLANG = Message(
    en=Words(
        "this SGLang has no class for {names}",
        "SGLang imports a file of its own for each architecture and leaves out those whose import fails. The model is "
        "newer than the release, or its file did not import: then a warning `Ignore import error when loading "
        "sglang.srt.models...` at the start names what is missing or of another version.",
        "Read that warning and mend what it names (`pip check`; releases before 0.4.7 name one vLLM version); else "
        "upgrade to a release that lists the model (`pip install -U sglang`). Where neither helps, "
        "`--model-impl transformers` serves models that Transformers knows (0.4.9 and newer).",
    ),
    zh=Words(
        "此 SGLang 没有 {names} 对应的类",
        "SGLang 为每种架构导入自己的文件,导入失败的会被略过。模型比该版本更新,或其文件未能导入:此时启动时有警告 "
        "`Ignore import error when loading sglang.srt.models...`,指明缺少什么或版本不符。",
        "查看该警告并修复其中所指(`pip check`;0.4.7 之前的版本限定了 vLLM 版本);否则升级到支持该模型的版本"
        "(`pip install -U sglang`)。若都不行,`--model-impl transformers` 可服务 Transformers 支持的模型(0.4.9 起)。",
    ),
)
PROCESSORS = Message(
    en=Words(
        "this SGLang has no processor for images and sounds of {names}",
        "SGLang imports a file of its own for each kind of processor and leaves out those whose import fails. Where "
        "the message lists only few as registered, most of them failed: Transformers is of another time than this "
        "SGLang. Where it lists many, the model is newer than the release.",
        "Read the warnings `Ignore import error when loading sglang...processors...` at the start and mend what they "
        "name: mostly the Transformers that this SGLang asks for (`pip check`, `pip show sglang`). Else upgrade to a "
        "release that lists the model: `pip install -U sglang`.",
    ),
    zh=Words(
        "此 SGLang 没有 {names} 的图像与声音处理器",
        "SGLang 为每类处理器导入自己的文件,导入失败的会被略过。若信息里列出的已注册项很少,说明大多数导入失败"
        ":Transformers 与该 SGLang 不是同一时期的版本。若列出很多,则模型比该版本更新。",
        "查看启动时的警告 `Ignore import error when loading sglang...processors...` 并修复其中所指:多为该 SGLang 所要"
        "求的 Transformers 版本(`pip check`、`pip show sglang`)。否则升级到支持该模型的版本:`pip install -U sglang`。",
    ),
)
UNNAMED = Message(
    en=Words(
        "config.json of the model names no architecture",
        "vLLM picks its class by the list `architectures`, and here it is absent or empty. That file is not that of a "
        "whole causal model: a part of a larger one (a stage of an omni or speech model, a vision tower, an adapter), "
        "a config written by another tool (mistral's params.json, a checkpoint in training), or an edited one.",
        "Look: `grep -A2 architectures FOLDER/config.json`. Serve the folder of the whole model, copy `config.json` "
        'from the base model of a fine-tune, or name the class yourself: `--hf-overrides \'{{"architectures": '
        "[\"Qwen2ForCausalLM\"]}}'`. Mistral's own format needs `--config-format mistral --load-format mistral "
        "--tokenizer-mode mistral`.",
    ),
    zh=Words(
        "模型的 config.json 没有写明架构",
        "vLLM 按 `architectures` 列表选择类,而此处没有该项或为空。该文件不属于完整的因果语言模型:它是更大模型的一部分"
        "(omni 或语音模型的某一级、视觉塔、adapter),由其他工具写出(mistral 的 params.json、训练中的检查点),或被改过。",
        "查看:`grep -A2 architectures FOLDER/config.json`。提供完整模型的目录,从微调所用的基座模型复制 `config.json`,"
        '或自己写明类:`--hf-overrides \'{{"architectures": ["Qwen2ForCausalLM"]}}\'`。Mistral 自己的格式需要 '
        "`--config-format mistral --load-format mistral --tokenizer-mode mistral`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Both engines keep a register of classes and refuse in the same words."""
    if hits.first.groups.get("none"):
        return found(PROBLEM, UNNAMED, where=hits.where(), evidence=hits.evidence())
    if hits.first.groups.get("processor"):
        return found(PROBLEM, PROCESSORS, where=hits.where(), evidence=hits.evidence(), names=hits.get("names") or "")
    sglang = any("sglang" in frame for hit in hits for frame in hit.frames) or "dict_keys([" in hits.first.text
    return found(
        PROBLEM, SGLANG if sglang else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        names=hits.get("names") or "", last=hits.get("last") or "",
    )  # fmt: skip
