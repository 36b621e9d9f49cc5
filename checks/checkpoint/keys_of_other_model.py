"""The weights of a checkpoint have names that the model does not have.

## What it means
A state dict fits only the class, parallel layout and wrapper it was saved from. Hugging Face names
(`model.layers`), Megatron names (`decoder.layers`), prefixes of wrappers (`module.`, `_orig_mod.`,
`base_model.model.`, `_fsdp_wrapped_module.`) and LoRA names differ.
## What it does to a run
Loading ends with lists of missing and unexpected keys.
## What to do
Convert the checkpoint, or load it into what it was saved from.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/verl-project/verl/issues/1189
https://github.com/haotian-liu/LLaVA/issues/1874
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/deepspeed.py
https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP012", name="keys-of-other-model", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Error\(s\) in loading state_dict for (?P<model>\w{1,80}):",
        symptom_of=("CKP011", "VLL", "PFT", "FSD", "DSP"),
    ),
    Signature(
        r'(?:Unexpected|Missing) key\(s\) in state_dict: "(?P<key>[\w.\-]{1,160})"',
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the names of the weights do not belong to `{model}`",
        "The state dict was saved from another class, framework or wrapper: Hugging Face and Megatron "
        "(GPTModel, mcore) name and split their layers differently, and `module.`, `_orig_mod.`, "
        "`base_model.model.` or `_fsdp_wrapped_module.` are prefixes of DDP, torch.compile, PEFT and "
        "FSDP. A checkpoint of another transformers release or of only some ranks looks the same.",
        "Compare the first missing and the first unexpected key. Convert between formats (veRL: `python "
        "-m verl.model_merger merge --backend fsdp|megatron ...`, and the converter of its scripts or "
        "`use_mbridge=True` for Megatron), strip the prefix of the wrapper, save from the unwrapped "
        "model, or load with the release and parallel sizes it was saved with.",
    ),
    zh=Words(
        "权重名称不属于 `{model}`",
        "该 state dict 来自其他模型类、框架或包装:Hugging Face 与 Megatron(GPTModel、mcore)对层的命名与切"
        "分不同,`module.`、`_orig_mod.`、`base_model.model.`、`_fsdp_wrapped_module.` 分别是 DDP、"
        "torch.compile、PEFT、FSDP 的前缀。其他 transformers 版本或只含部分 rank 的检查点也会如此。",
        "比较第一个缺失与第一个多余的键。转换格式(veRL:`python -m verl.model_merger merge --backend "
        "fsdp|megatron ...`;Megatron 用其脚本中的转换器或 `use_mbridge=True`),去掉包装前缀,从未包装的模型"
        "保存,或用保存时的版本与并行大小加载。",
    ),
)

ADAPTER_ONLY = Message(
    en=Words(
        "the checkpoint holds only the LoRA adapter, and `{model}` was to be filled with it",
        "With PEFT the trained parameters alone are saved (DeepSpeed: `exclude_frozen_parameters`); the weights of the "
        "base model are not in the checkpoint, and loading with `strict=True` takes that for an error. The checkpoint "
        "is whole.",
        "Load it without strictness: Transformers 4.38 and newer does so by itself for a PEFT model "
        "(`load_module_strict=False`): upgrade, or in own loops `engine.load_checkpoint(DIR, "
        "load_module_strict=False)`, `accelerator.load_state(DIR, load_module_strict=False)`, "
        "`model.load_state_dict(state, strict=False)`. Or begin from the adapter alone: "
        "`PeftModel.from_pretrained(base, DIR, is_trainable=True)`.",
    ),
    zh=Words(
        "检查点中只有适配器(LoRA),而 `{model}` 按严格模式加载:缺少基座权重",
        "使用 PEFT 时只保存被训练的参数(DeepSpeed:`exclude_frozen_parameters`),基座模型的权重不在检查点中,以 "
        "`strict=True` 加载会把这当作错误。检查点本身是完整的。",
        "以非严格方式加载:Transformers 4.38 及以上对 PEFT 模型自动如此(`load_module_strict=False`),请升级;自己的循环中"
        "用 `engine.load_checkpoint(DIR, load_module_strict=False)`、`accelerator.load_state(DIR, "
        "load_module_strict=False)`、`model.load_state_dict(state, strict=False)`。或只从适配器开"
        "始:`PeftModel.from_pretrained(base, DIR, is_trainable=True)`。",
    ),
)

MESSAGES = (LOG_MESSAGE, ADAPTER_ONLY)
LOG_CONFIDENCE = LIKELY
#: a weight of the frozen model below PEFT's wrapper
_BASE_KEY = re.compile(r"^base_model\.model\.(?!.*(?:lora_|modules_to_save|prompt_))")


def explain(hits: Hits) -> Finding:
    """With the class that was to be filled; a PEFT model that lacks base weights got a checkpoint of its adapter."""
    model = hits.get("model") or ""
    lacking = [each.groups["key"] for each in hits.of(1) if each.text.lstrip().startswith("Missing")]
    unexpected = [each for each in hits.of(1) if each.text.lstrip().startswith("Unexpected")]
    adapter = "Peft" in model and not unexpected and any(_BASE_KEY.search(key) for key in lacking)
    return found(
        PROBLEM, ADAPTER_ONLY if adapter else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, model=model,
    )  # fmt: skip
