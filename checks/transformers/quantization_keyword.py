"""`load_in_4bit` or `load_in_8bit` is passed to the model itself.

## What it means
The keywords were a shorthand of `from_pretrained`; Transformers 5 has removed it, so they reach the model's
constructor.
## What it does to a run
Loading raises TypeError.
## What to do
Pass a `BitsAndBytesConfig` as `quantization_config`.
## How it is found
In a log: by the refused keyword.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
https://huggingface.co/docs/transformers/quantization/bitsandbytes
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF019", name="quantization-keyword-removed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?P<model>(?!\w{0,70}(?:Config|Arguments|Trainer)\.)\w{1,80})\.__init__\(\) got an unexpected "
        r"keyword argument"
        r" '(?P<name>load_in_[48]bit)'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was passed when loading `{model}`, and it is no longer a keyword",
        "Transformers 5 takes quantization only as a configuration; the old shorthand ends up in the "
        "model's constructor.",
        "Write `quantization_config=BitsAndBytesConfig({name}=True)` (`from transformers import "
        "BitsAndBytesConfig`) in `from_pretrained` or in TRL's `model_init_kwargs`, with `pip install -U "
        "bitsandbytes`.",
    ),
    zh=Words(
        "加载 `{model}` 时传入了 `{name}`,而它已不再是关键字参数",
        "Transformers 5 只接受以配置形式给出的量化;旧的简写会落入模型的构造函数。",
        "在 `from_pretrained` 或 TRL 的 `model_init_kwargs` 中写 "
        "`quantization_config=BitsAndBytesConfig({name}=True)`(`from transformers import "
        "BitsAndBytesConfig`),并 `pip install -U bitsandbytes`。",
    ),
)
