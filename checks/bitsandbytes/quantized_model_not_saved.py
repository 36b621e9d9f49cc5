"""A quantized model, or one that an adapter was merged into, cannot be written.

## What it means
Weights that bitsandbytes packed are saved only by releases that know how: 4-bit since Transformers 4.37 with
bitsandbytes 0.41.3. Transformers 5 turns its conversions round on saving, and some of bitsandbytes' have no way
back.
## What it does to a run
`save_pretrained` raises after the training; what was trained is in memory only.
## What to do
Save the adapter alone, and merge it into the model loaded in bf16.
## How it is found
In a log: by the refusals of Transformers' `save_pretrained`.
## References
https://github.com/huggingface/transformers/pull/26037
https://github.com/huggingface/transformers/pull/45743
https://github.com/huggingface/transformers/blob/v4.36.2/src/transformers/modeling_utils.py
https://github.com/artidoro/qlora/issues/28
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="BNB009", name="quantized-model-not-saved", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:NotImplementedError|ValueError|RuntimeError): You are calling `save_pretrained` (?:on|to) an? "
        r"(?P<bits>[48])-bit (?:converted|quantized) model"
    ),
    Signature(r"^ValueError: The model is quantized with (?P<method>[\w.]{1,40}) and is not serializable"),
    Signature(r"^NotImplementedError$", frame=r"core_model_loading\.py:reverse_op$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the {model} model cannot be saved by this Transformers",
        "Packed weights (bitsandbytes 4-bit or 8-bit, or another method without a way to write them back) are not what "
        "`save_pretrained` of this release can store; after a merge the layers are still quantized.",
        "Save the adapter alone (`trainer.save_model()`, or `model.save_pretrained(DIR)` on the PEFT model before "
        "`merge_and_unload`), then merge it into the base model loaded in bf16, unquantized: "
        "`AutoPeftModelForCausalLM.from_pretrained(DIR, torch_dtype=torch.bfloat16).merge_and_unload()."
        "save_pretrained(OUT)`. To store the quantized weights themselves upgrade: `pip install -U transformers "
        "bitsandbytes` (4-bit: Transformers 4.37 and bitsandbytes 0.41.3 or newer), or `model.dequantize()` first.",
    ),
    zh=Words(
        "该 Transformers 无法保存这个 {model_zh} 模型",
        "打包的权重(bitsandbytes 4 位或 8 位,或其他无法写回的量化方法)不能由该版本的 `save_pretrained` 保存;合并之后各"
        "层仍然是量化的。",
        "只保存适配器(`trainer.save_model()`,或在 `merge_and_unload` 之前对 PEFT 模型调用 "
        "`model.save_pretrained(DIR)`),再把它合并到以 bf16 加载、未量化的基座模型:"
        "`AutoPeftModelForCausalLM.from_pretrained(DIR, torch_dtype=torch.bfloat16).merge_and_unload()."
        "save_pretrained(OUT)`。若要保存量化权重本身,请升级:`pip install -U transformers bitsandbytes`(4 位需 "
        "Transformers 4.37 与 bitsandbytes 0.41.3 或更新),或先 `model.dequantize()`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the number of bits or the method, where the refusal does."""
    bits, method = hits.get("bits"), hits.get("method")
    name = f"{bits}-bit" if bits else (method or "quantized")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=name,
        model_zh=f"{bits} 位" if bits else (method or "量化"),
    )  # fmt: skip
