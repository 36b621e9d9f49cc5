"""vLLM cannot use some weights of a LoRA adapter.

## What it means
vLLM computes low-rank pairs (lora_A, lora_B) of the linear layers that its model class lists. Whole layers that
were trained beside them (`modules_to_save`, a trained lm_head or embedding), layers of other kinds, DoRA and
biases are no such pairs.
## What it does to a run
The request or the start fails when the adapter is loaded.
## What to do
Train without them, or merge the adapter into the model.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/lora/
https://github.com/vllm-project/vllm/issues/9280
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL052", name="adapter-weights-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: (?P<weight>[\w.\-]{1,200}) is unsupported LoRA weight",
    ),
    Signature(
        r"expected target modules in (?P<known>[\[{][^\]}\n]{0,400}[\]}]) but received"
        r" (?P<given>[\[{][^\]}\n]{1,400})",
    ),
    Signature(
        r"vLLM only supports modules_to_save being None",
    ),
    Signature(
        r"vLLM does not yet support DoRA",
    ),
    Signature(
        r"Adapter bias cannot be used (?:for (?P<module>[\w.\-]{1,120}) )?without"
        r" (?:--enable-lora-bias|bias_enabled)",
    ),
    Signature(
        r"LoRA added vocab size (?P<added>\d{1,6}) is greater than lora_extra_vocab_size"
        r" (?P<limit>\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM cannot use some weights of this LoRA adapter",
        "It takes low-rank pairs of the linear layers that its model class lists as "
        "`supported_lora_modules`. The adapter also holds layers that were trained whole "
        "(`modules_to_save`, lm_head or embeddings, added tokens), or its `target_modules` name layers "
        "of another kind or under other names than this model has; DoRA and biases do not count either.",
        "Merge it and serve the merged model (`model.merge_and_unload()`, then `save_pretrained`). Or "
        "train again with `modules_to_save=None`, without `use_dora` and bias, and with `target_modules` "
        "that are linear layers of the language model only (q_proj, k_proj, v_proj, o_proj, gate_proj, "
        "up_proj, down_proj). Check that the adapter belongs to this base model.",
    ),
    zh=Words(
        "vLLM 无法使用该 LoRA 适配器中的部分权重",
        "vLLM 只接受其模型类 `supported_lora_modules` 所列线性层的低秩矩阵对。该适配器还含有整层训练的权"
        "重(`modules_to_save`、lm_head 或词嵌入、新增 token),或其 `target_modules` 指向其他类型、其他名称"
        "的层;DoRA 与偏置也不支持。",
        "先合并再提供合并后的模型(`model.merge_and_unload()`,然后 `save_pretrained`)。或重新训练"
        ":`modules_to_save=None`,不使用 `use_dora` 与偏置,`target_modules` 只包含语言模型的线性层(q_proj"
        "、k_proj、v_proj、o_proj、gate_proj、up_proj、down_proj)。请确认适配器属于该基础模型。",
    ),
)
