"""An adapter cannot be merged into its base.

## What it means
Merging adds the adapter's product to the base weights. That cannot be done in GPTQ weights, and it shows where the
adapter itself holds NaN, which `safe_merge` looks for.
## What it does to a run
ValueError where the merged model is to be saved or pushed to the engine.
## What to do
Merge into the unquantized base; a broken adapter is to be trained anew from an earlier checkpoint.
## How it is found
In a log: by PEFT's exceptions.
## References
https://github.com/huggingface/peft/blob/v0.17.1/src/peft/tuners/lora/model.py
https://huggingface.co/docs/peft/developer_guides/lora#merge-lora-weights-into-the-base-model
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT013", name="merge-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: NaNs detected in the merged (?:weights|bias)\. The adapter (?P<adapter>\S{1,60}) seems"
        r" to be broken"
    ),
    Signature(
        r"ValueError: Cannot merge (?:LORA|ia3|\w{2,12}) layers when the model is (?P<how>gptq"
        r" quantized|loaded in [48]-bit mode)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the adapter cannot be merged into a base that is {how}",
        "The sum of both cannot be written back into such weights.",
        "Load the base in bf16 (`AutoModelForCausalLM.from_pretrained(BASE, torch_dtype=torch.bfloat16)`), put the "
        "adapter on it (`PeftModel.from_pretrained`), and call `merge_and_unload()` there. vLLM also takes the adapter "
        "unmerged (`--enable-lora`).",
    ),
    zh=Words(
        "适配器无法合并到 {how} 的基座中",
        "两者之和无法写回这样的权重。",
        "以 bf16 加载基座(`AutoModelForCausalLM.from_pretrained(BASE, torch_dtype=torch.bfloat16)`),加上适配器"
        "(`PeftModel.from_pretrained`),再调用 `merge_and_unload()`。vLLM 也可不合并直接使用适配器(`--enable-lora`)。",
    ),
)
BROKEN = Message(
    en=Words(
        "the adapter `{adapter}` holds NaN, so merging was refused",
        "The training has diverged before it was saved (or the merge was computed in fp16 and overflowed); the merged "
        "model would only produce NaN.",
        "Look in the metrics for the step where loss or gradient became NaN, and take a checkpoint before it. If the "
        "adapter's own tensors are finite, merge in float32 or bf16.",
    ),
    zh=Words(
        "适配器 `{adapter}` 含有 NaN,合并被拒绝",
        "训练在保存之前已经发散(或合并以 fp16 计算而溢出);合并后的模型只会输出 NaN。",
        "在指标中找到 loss 或梯度变为 NaN 的步,使用之前的检查点。若适配器自身的张量都有限,用 float32 或 bf16 合并。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A broken adapter is another matter than a base that cannot take it."""
    adapter, how = hits.first.groups.get("adapter"), hits.first.groups.get("how")
    message = BROKEN if adapter else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), adapter=adapter, how=how)
