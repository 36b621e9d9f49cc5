"""No layer of the model has a name that `target_modules` asks for.

## What it means
Families of models name their layers differently: `q_proj`, `k_proj`, `v_proj` in Llama and Qwen2, one
`qkv_proj` in Phi-3, `query_key_value` in GPT-NeoX, BLOOM and Falcon, `c_attn` in GPT-2.
## What it does to a run
PEFT raises "Target modules ... not found in the base model" after the model was loaded.
## What to do
Use the names of this model, or `target_modules="all-linear"`.
## How it is found
The model type of the local `config.json` and the names of the linear layers of that family in Transformers,
for families where they are certain.
In a log: by PEFT's exception.
## References
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/tuners_utils.py
https://huggingface.co/docs/peft/developer_guides/troubleshooting
https://github.com/huggingface/peft/issues/1206
https://github.com/wp931120/baichuan_sft_lora/issues/1
"""

from __future__ import annotations

import re

from doctor.checks.trl._helpers import listing, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Hits, Signature
from doctor.facts.model import Model
from doctor.facts.training import Training

PROBLEM = Problem(id="PFT004", name="lora-targets-absent", severity=ERROR, since="0.1", affects={"peft": ">=0.8"})

SIGNATURES = (
    Signature(
        r"(?:ValueError|NoMatchingPeftModuleError): Target modules (?P<targets>[^\n]{1,300}) not"
        r" found in the base model",
    ),
    Signature(r"ValueError: Please specify `target_modules` in `peft_config`"),
    Signature(r"ValueError: No modules were targeted for adaptation"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no layer of the model has a name that `target_modules` asks for: {targets}",
        "Each architecture names its linear layers in its own way (`q_proj` ... in Llama and Qwen2, "
        "`qkv_proj` in Phi-3, `c_attn` in GPT-2, `query_key_value` in GPT-NeoX, `W_pack` in Baichuan), "
        "and PEFT found none of the names that were given.",
        'Set `target_modules="all-linear"` (PEFT 0.8 and newer), or use names that `for name, _ in '
        "model.named_modules(): print(name)` shows.",
    ),
    zh=Words(
        "模型中没有 `target_modules` 所要的层:{targets}",
        "每种架构对线性层的命名不同(Llama 和 Qwen2 为 `q_proj` 等,Phi-3 为 `qkv_proj`,GPT-2 为 "
        "`c_attn`,GPT-NeoX 为 `query_key_value`,Baichuan 为 `W_pack`),PEFT 没有找到给出的任何名称。",
        '设置 `target_modules="all-linear"`(PEFT 0.8 及以上),或使用 `for name, _ in '
        "model.named_modules(): print(name)` 所显示的名称。",
    ),
)

LOG_MESSAGE_NONE = Message(
    en=Words(
        "no `target_modules` fit the model: none given and none known, or all excluded",
        "PEFT knows a default only for architectures on its list; otherwise the layers to adapt must be "
        "named, and not all be excluded or trained whole (`exclude_modules`, `modules_to_save`).",
        'Set `target_modules="all-linear"` in `LoraConfig` (`--lora_target_modules all-linear` in TRL\'s '
        "scripts), or names that `model.named_modules()` shows, and look at `exclude_modules` and "
        "`modules_to_save`.",
    ),
    zh=Words(
        "没有适合该模型的 `target_modules`:未给出且无默认值,或全部被排除",
        "PEFT 只对其列表中的架构有默认值;否则必须指明要适配的层,且不能全部被排除或整体训练"
        "(`exclude_modules`、`modules_to_save`)。",
        '在 `LoraConfig` 中设置 `target_modules="all-linear"`(TRL 脚本中为 `--lora_target_modules '
        "all-linear`),或使用 `model.named_modules()` 显示的名称,并检查 `exclude_modules` 和 "
        "`modules_to_save`。",
    ),
)

#: before PEFT 0.6 each entry of a list was searched as a pattern, too
PATTERN = Message(
    en=Words(
        "`target_modules` is a list that holds a pattern: PEFT takes its entries as plain names",
        "In a list each entry must be the name of a layer, or its end after a dot. Only a single text is a regular "
        "expression, which must match the whole name.",
        'Give one pattern as text, `target_modules=r"PATTERN"` (several joined by `|`), or plain names in the list, '
        "as `for name, _ in model.named_modules(): print(name)` shows them.",
    ),
    zh=Words(
        "`target_modules` 是列表,其中却是正则表达式:PEFT 把列表中的各项当作普通名称",
        "列表中的每一项必须是层的名称,或名称中点号之后的结尾。只有单个字符串才是正则表达式,且必须匹配完整名称。",
        '以字符串给出一个正则:`target_modules=r"PATTERN"`(多个用 `|` 连接),或在列表中写 `for name, _ in '
        "model.named_modules(): print(name)` 所显示的普通名称。",
    ),
)
#: helpers that gather the names of quantized layers find none in a model that is not quantized
EMPTY = Message(
    en=Words(
        "`target_modules` is an empty list: the code that gathers the layers found none",
        "Scripts gather the names of all `Linear4bit` or `Linear8bitLt` layers (`find_all_linear_names`). None is "
        "there when the model was not loaded quantized, or has linear layers of a class of its own (an old "
        "checkpoint's code, GPTQ, AWQ).",
        'Set `target_modules="all-linear"` (PEFT 0.8 and newer), or the names that `for name, module in '
        "model.named_modules(): print(name, type(module))` shows; see that `load_in_4bit` and bitsandbytes really "
        "took effect if they were meant to.",
    ),
    zh=Words(
        "`target_modules` 是空列表:收集层名的代码一个也没找到",
        "脚本会收集所有 `Linear4bit` 或 `Linear8bitLt` 层的名称(`find_all_linear_names`)。若模型没有以量化方式加载,或"
        "其线性层是自有的类(旧检查点的代码、GPTQ、AWQ),就一个也没有。",
        '设置 `target_modules="all-linear"`(PEFT 0.8 及以上),或使用 `for name, module in model.named_modules(): '
        "print(name, type(module))` 显示的名称;若本应量化,请确认 `load_in_4bit` 与 bitsandbytes 确实生效。",
    ),
)

MESSAGE = Message(
    en=Words(
        "no layer of a `{family}` model is named {names}",
        'PEFT finds nothing to adapt and raises "Target modules ... not found in the base model", after '
        "the model was loaded.",
        'Use names of this model, or `target_modules="all-linear"`.',
    ),
    zh=Words(
        "`{family}` 模型中没有名为 {names} 的层",
        "PEFT 找不到可适配的层,模型加载之后会抛出 Target modules ... not found in the base model。",
        '使用该模型的层名,或 `target_modules="all-linear"`。',
    ),
)

_LLAMA = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
_NEOX = frozenset({"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"})

#: embeddings and heads, which are named alike in several families
_ENDS = frozenset({"lm_head", "embed_tokens", "embed_out", "embed_in", "word_embeddings", "wte", "wpe"})

#: model type -> last parts of the names of its layers in Transformers (src/transformers/models/*/modeling_*.py)
LAYERS = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma2": _LLAMA,
    "phi3": frozenset({"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}),
    "gpt2": frozenset({"c_attn", "q_attn", "c_proj", "c_fc"}),
    "gpt_neox": _NEOX,
    "bloom": _NEOX,
    "falcon": _NEOX,
}


@check(PROBLEM)
def lora_targets_absent(training: Training, model: Model | None) -> Judgement:
    """Judge lists of plain names; a single string is a pattern."""
    setting = (training.lora or {}).get("target_modules")
    if setting is None or model is None or model.model_type not in LAYERS:
        return
    if not setting.known or truth(training.value("trust_remote_code")):
        yield Skip("`target_modules` or the model's own code could not be read without running it")
        return
    if not isinstance(setting.value, (list, tuple, set)) or not setting.value:
        return
    wanted = [str(each) for each in setting.value]
    layers = LAYERS[model.model_type]
    if any(name.rpartition(".")[2] in layers | _ENDS for name in wanted):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=(*quoted(setting), Evidence(f"{model.folder}/config.json", f"model_type: {model.model_type}")),
        commands=(f"target_modules={sorted(layers)!r}", 'target_modules="all-linear"'),
        family=model.model_type,
        names=listing(wanted),
    )


def explain(hits: Hits) -> Finding | None:
    """Name what was asked for."""
    targets = hits.get("targets") or ""
    names = re.findall(r"[\w.\-]{2,80}", targets)
    several = LOG_MESSAGE if names else EMPTY if targets in ("[]", "set()") else LOG_MESSAGE_NONE
    return found(
        PROBLEM,
        PATTERN if targets[:1] in ("[", "{") and re.search(r"[*+^$|\\]", targets) else several,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=('target_modules="all-linear"',),
        targets=", ".join(f"`{name}`" for name in names[:3]) + (" ..." if len(names) > 3 else ""),
    )
