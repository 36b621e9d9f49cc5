"""The tokenizer has no begin or end token, and `None` went into the token ids instead.

## What it means
Older trainers put the tokenizer's `bos_token_id` and `eos_token_id` around each row. Some tokenizers have none of them
(Qwen 1 has neither, Qwen2 and newer have no begin token), and `None` in a list of ids becomes no tensor.
## What it does to a run
TypeError in the collator, at the first batch.
## What to do
Upgrade TRL, or give the tokenizer these tokens.
## How it is found
In a log: by the exception in the collator of TRL or Transformers.
## References
https://github.com/huggingface/trl/issues/1073
https://github.com/huggingface/trl/pull/1885
https://github.com/QwenLM/Qwen3-Coder/pull/177
https://github.com/hiyouga/LlamaFactory/issues/401
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT063", name="special-token-is-none", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?:'NoneType' object cannot be interpreted as an integer"
        r"|an integer is required \(got type NoneType\))",
        frame=r"trl[\\/](?:experimental[\\/]\w{1,30}|trainer)[\\/]\w{1,40}\.py:(?:collate|__call__|torch_call|<listcomp>)$",
        keywords=("'NoneType' object cannot be interpreted as an integer", "(got type NoneType)"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`None` stands among the token ids of a batch: the tokenizer has no begin or end token",
        "TRL before the autumn of 2024 puts `bos_token_id` and `eos_token_id` around each row without looking whether "
        "they exist. Qwen's first models have neither, Qwen2 and newer have no begin token.",
        "Upgrade: `pip install -U trl`. In an older one set them before the trainer is made, for Qwen "
        "`tokenizer.bos_token_id = tokenizer.eos_token_id = tokenizer.pad_token_id = "
        'tokenizer.convert_tokens_to_ids("<|endoftext|>")` (Qwen 1: `tokenizer.eod_id`). Ids of your own making: see '
        "where they hold `None`.",
    ),
    zh=Words(
        "一个批次的 token id 中有 `None`:分词器没有起始或结束 token",
        "2024 年秋季之前的 TRL 会在每行前后加上 `bos_token_id` 与 `eos_token_id`,而不检查它们是否存在。第一代 Qwen "
        "两者都没有,Qwen2 及以后没有起始 token。",
        "升级:`pip install -U trl`。旧版本中在创建训练器之前设置,例如 Qwen:"
        "`tokenizer.bos_token_id = tokenizer.eos_token_id = tokenizer.pad_token_id = "
        'tokenizer.convert_tokens_to_ids("<|endoftext|>")`(第一代 Qwen 用 `tokenizer.eod_id`)。若 ids 由自己的代码生成,'
        "检查哪里出现了 `None`。",
    ),
)

LOG_CONFIDENCE = LIKELY
