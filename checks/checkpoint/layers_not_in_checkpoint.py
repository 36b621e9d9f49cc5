r"""Transformers did not find the model's layers in the checkpoint and filled them with random values.

## What it means
Weights are matched by name. Where the names of a checkpoint begin otherwise (`_orig_mod.`, `module.`,
`base_model.model.`), or the class is another one, none of them fits. What the file lacks is made anew, at random.
## What it does to a run
A warning (release 4) or a table (release 5), and the run goes on with a model that knows nothing.
## What to do
Save the model itself, not what it was wrapped in, or rename the weights of the file.
## How it is found
In a log: by the projections of layer 0 among the newly initialized weights. A head that is new (`score`, `lm_head`) and
buffers (`inv_freq`) do not count.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/utils/loading_report.py
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/modeling_utils.py
https://github.com/huggingface/transformers/issues/29659
https://github.com/huggingface/transformers/issues/47407
https://github.com/deepspeedai/DeepSpeed/issues/7848
https://github.com/BudEcosystem/code-millenials/issues/1
https://docs.pytorch.org/docs/stable/generated/torch.compile.html
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP034", name="layers-not-in-checkpoint", severity=WARNING, since="0.1")

#: parts that are often made anew on purpose, or are filled later by other code
_BY_THEMSELVES = "vis|image|audio|speech|tower|cross|lora|adapter|prefix|mtp|draft|eagle|medusa|projector"

#: a projection of attention or of the MLP: weights that no buffer and no new head is called by
_PROJECTION = (
    r"(?:q_proj|k_proj|v_proj|qkv_proj|in_proj_qkv|c_attn|query_key_value|W_pack|[wW]qkv|query|up_proj|gate_proj|"
    r"gate_up_proj|c_fc|fc1)\.weight"
)
#: what quantized and sparse weights of compressed-tensors are stored as; Transformers up to 4.49 called the weights
#: that are made of them missing, though it made them: https://github.com/huggingface/transformers/pull/36152
_COMPRESSED = r"(?:weight_packed|weight_shape|bitmask|compressed|row_offsets)"

SIGNATURES = (
    Signature(
        r"checkpoint at (?P<path>\S{1,100}) and are newly initialized: \[[^\n]{0,1500}?'(?![\w.]{0,80}(?:"
        + _BY_THEMSELVES
        + r"))(?:\w{1,40}\.){0,4}(?:layers?|h|blocks?)\.0\.(?:\w{1,40}\.){1,3}"
        + _PROJECTION
        + r"'",
        kind="warning",
    ),
    Signature(
        r"^(?![\w.]{0,80}(?:"
        + _BY_THEMSELVES
        + r"))(?:\w{1,40}\.){0,4}(?:layers?|h|blocks?)\.(?:0|\{0[,.][^}\n]{1,80}\})\.(?:\w{1,40}\.){1,3}"
        + r"(?:gate_up_proj|"
        + _PROJECTION
        + r") +\| MISSING",
        keywords=("| MISSING",),
        kind="warning",
    ),
    Signature(
        r"^(?P<prefix>_orig_mod|module|base_model\.model|_forward_module|_fsdp_wrapped_module)\.[\w.]{1,80}"
        r"[\w.{}, ]{1,160} +\| UNEXPECTED",
        keywords=("| UNEXPECTED",),
        kind="sign",
    ),
    Signature(
        r"Some weights of the model checkpoint at [^\n]{1,200}? were not used when initializing \w{1,80}: "
        r"\['(?P<prefix>_orig_mod|module|base_model\.model|_forward_module|_fsdp_wrapped_module)\.",
        kind="sign",
    ),
    Signature(
        r"checkpoint at (?P<packed>\S{1,100}) were not used when initializing \w{1,80}: \[[^\n]{0,600}?\."
        + _COMPRESSED
        + r"'",
        keywords=(" were not used when initializing ",),
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "layers of the model were not found in the checkpoint: they began with random values",
        "Transformers matches weights by name and fills what it misses at random, with a warning only. Either the "
        "names in the file begin otherwise (the model was saved inside torch.compile, DDP, FSDP or PEFT), or the "
        "class is another one (text model against multimodal), or weights are quantized for another loader, or (fused "
        "experts under ZeRO-3, early Transformers 5) the loader did not map them. A loss that begins near 10 to 12 "
        "fits it.",
        "Compare the names: `safetensors.safe_open(FILE, 'pt').keys()` against `model.state_dict().keys()`. Save what "
        "was wrapped, `accelerator.unwrap_model(model).save_pretrained(DIR)` (PEFT: `merge_and_unload()` first), or "
        "rename the keys of the file; load by the class in `architectures` of its config.json; for fused experts "
        "update Transformers and DeepSpeed. What was trained or measured after this load is worth nothing.",
    ),
    zh=Words(
        "检查点中找不到模型的层:这些层以随机值开始",
        "Transformers 按名称匹配权重,缺失的用随机值填充,只给出警告。原因可能是文件中的名称前缀不同(模型在 "
        "torch.compile、DDP、FSDP 或 PEFT 包装下保存),模型类不同(文本模型与多模态模型),或权重是为其他加载方式量化的。"
        "loss 从 10 到 12 附近开始与此相符。",
        "比较名称:`safetensors.safe_open(FILE, 'pt').keys()` 与 `model.state_dict().keys()`。保存去掉包装的模型"
        ":`accelerator.unwrap_model(model).save_pretrained(DIR)`(PEFT 先 `merge_and_unload()`),或重命名文件中的键;按其"
        " config.json 中 `architectures` 的类加载;融合专家则升级 Transformers 与 DeepSpeed。此次加载之后的训练或评测结"
        "果没有意义。",
    ),
)

WRAPPED = Message(
    en=Words(
        "the model's layers began with random values: in the file all begin with `{prefix}.`",
        "Transformers matches weights by name and fills what it misses at random, with a warning only. `{prefix}.` "
        "comes from what the model was wrapped in when it was saved: torch.compile (`_orig_mod`), DDP or DeepSpeed "
        "(`module`), PEFT (`base_model.model`), FSDP.",
        "The weights are still there: load the file by `safetensors.torch.load_file`, cut `{prefix}.` off the keys and "
        "write it by `save_file(..., metadata={{'format': 'pt'}})`; for PEFT load it by PEFT and `merge_and_unload()`. "
        "Next time save by `accelerator.unwrap_model(model).save_pretrained(DIR)`. What was trained or measured after "
        "this load is worth nothing.",
    ),
    zh=Words(
        "模型各层以随机值开始:文件中的名称都以 `{prefix}.` 开头",
        "Transformers 按名称匹配权重,缺失的用随机值填充,只给出警告。`{prefix}.` 来自保存时模型的包装:torch.compile"
        "(`_orig_mod`)、DDP 或 DeepSpeed(`module`)、PEFT(`base_model.model`)、FSDP。",
        "权重仍在:用 `safetensors.torch.load_file` 读取文件,从键中去掉 `{prefix}.`,再用 `save_file(..., "
        "metadata={{'format': 'pt'}})` 写回;PEFT 则用 PEFT 加载并 `merge_and_unload()`。以后用 "
        "`accelerator.unwrap_model(model).save_pretrained(DIR)` 保存。此次加载之后的训练或评测结果没有意义。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Optional[Finding]:
    """Name what the names of the file begin with, where the log tells; packed weights are made after the warning."""
    packed = hits.values("packed")
    named = [hit for hit in hits.of(0) if hit.groups.get("path") not in packed]
    if not named and not hits.of(1):
        return None
    shown = replace(hits, kept=[*named[:1], *hits.of(1)[:2], *hits.of(2)[:1], *hits.of(3)[:1]])
    prefix = hits.get("prefix")
    if prefix is None:
        return found(PROBLEM, LOG_MESSAGE, where=shown.where(), evidence=shown.evidence(), confidence=LOG_CONFIDENCE)
    return found(
        PROBLEM, WRAPPED, where=shown.where(), evidence=shown.evidence(), confidence=LOG_CONFIDENCE, prefix=prefix
    )
