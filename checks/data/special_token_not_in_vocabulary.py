"""The padding or end token that was set is not in the tokenizer's vocabulary.

## What it means
`eos_token` or `pad_token` of the training configuration is a text that the tokenizer does not hold as one token:
that of another model family, or a placeholder. Unsloth's `<EOS_TOKEN>` shows so when trainer and model were patched
in the wrong order.
## What it does to a run
The trainer raises ValueError when it is built.
## What to do
Leave the argument out, or write the token that the tokenizer has.
## How it is found
In a log: by TRL's exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py
https://github.com/unslothai/unsloth/issues/2797
"""

from __future__ import annotations

from typing import Any

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(
    id="DAT034", name="special-token-not-in-vocabulary", severity=ERROR, since="0.1", affects={"trl": ">=0.16"}
)

SIGNATURES = (
    Signature(
        r"ValueError: The specified `(?P<name>eos_token|pad_token)` \('(?P<token>[^'\n]{1,60})'\) is not found in the"
        r" vocabulary of the given `processing_class` \((?P<tokenizer>\w{1,60})\)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}={token}` is not in the vocabulary of this model's tokenizer",
        "The token belongs to another model or chat format; `{tokenizer}` does not hold it as a single token.",
        "Leave `{name}` out of the configuration, or set it to what the tokenizer has: "
        "`tokenizer.{name}`, for Qwen `<|im_end|>`, for Llama 3 `<|eot_id|>`.",
    ),
    zh=Words(
        "`{name}={token}` 不在该模型分词器的词表中",
        "该词元属于另一个模型或对话格式;`{tokenizer}` 中没有它这一个词元。",
        "从配置中去掉 `{name}`,或设为分词器已有的词元:`tokenizer.{name}`,如 Qwen 的 `<|im_end|>`、Llama 3 的 "
        "`<|eot_id|>`。",
    ),
)
PLACEHOLDER = Message(
    en=Words(
        "`{name}` is Unsloth's placeholder `{token}`, which no tokenizer holds",
        "Unsloth replaces it with the tokenizer's own token when its patches are applied before TRL is imported; here "
        "`{tokenizer}` got the placeholder itself.",
        "Import `unsloth` before `trl` and `transformers`, upgrade both (`pip install -U unsloth unsloth_zoo`),"
        " and set "
        "`{name}=tokenizer.{name}` in the configuration.",
    ),
    zh=Words(
        "`{name}` 是 Unsloth 的占位符 `{token}`,任何分词器都没有",
        "若在导入 TRL 之前应用 Unsloth 的补丁,它会被替换为分词器自己的词元;这里 `{tokenizer}` 收到的是占位符本身。",
        "在 `trl` 和 `transformers` 之前导入 `unsloth`,升级两者(`pip install -U unsloth unsloth_zoo`),并在配置中写 "
        "`{name}=tokenizer.{name}`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Unsloth's placeholders have a cause of their own."""
    message = PLACEHOLDER if hits.first.groups["token"] in ("<EOS_TOKEN>", "<PAD_TOKEN>") else LOG_MESSAGE
    values: dict[str, Any] = dict(hits.first.groups)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **values)
