"""A model wants to know which tokens are an image's when it trains.

## What it means
Gemma 3, PaliGemma and other models attend in both directions inside an image and therefore need `token_type_ids` (or
`mm_token_type_ids`) in training, which their processor makes. A tokenizer or collator alone does not.
## What it does to a run
The first forward in training mode raises; generation works.
## What to do
Make the inputs with the processor and keep the column.
## How it is found
In a log: by the words of the model.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/models/gemma3/modeling_gemma3.py
https://github.com/axolotl-ai-cloud/axolotl/issues/3298
https://huggingface.co/docs/transformers/model_doc/gemma3
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF047", name="token-types-required", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: `(?P<name>(?:mm_)?token_type_ids)` (?:is|are) required as (?:a )?model inputs? when training"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model needs `{name}` in training, and the batches do not hold it",
        "Gemma 3, PaliGemma and their like let the tokens of an image see each other, so in training they "
        "must know which tokens these are. The processor gives `{name}`; a plain tokenizer, a packing "
        "collator or `remove_unused_columns` loses it.",
        "Make the inputs with `AutoProcessor` of the model and keep `{name}` through collator and packing "
        '(`remove_unused_columns=False`). For text alone add zeros: `batch["{name}"] = '
        'torch.zeros_like(batch["input_ids"])`, or load the text model (`Gemma3ForCausalLM`) instead of '
        "`Gemma3ForConditionalGeneration`. With TRL, axolotl or LLaMA-Factory upgrade it to a release that "
        "knows the installed Transformers.",
    ),
    zh=Words(
        "模型训练时需要 `{name}`,而批次中没有",
        "Gemma 3、PaliGemma 等模型让同一图像的 token 互相可见,因此训练时必须知道哪些 token 属于图像。"
        "processor 会给出 `{name}`;单独的分词器、打包 collator 或 `remove_unused_columns` 会丢失它。",
        "用该模型的 `AutoProcessor` 生成输入,并在 collator 和打包中保留"
        ' `{name}`(`remove_unused_columns=False`)。纯文本时补零:`batch["{name}"] = '
        'torch.zeros_like(batch["input_ids"])`,或加载文本模型(`Gemma3ForCausalLM`)而不是'
        " `Gemma3ForConditionalGeneration`。使用 TRL、axolotl 或 LLaMA-Factory 时,升级到支持已安装"
        " Transformers 的版本。",
    ),
)
