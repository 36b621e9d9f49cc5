"""Transformers initialises an embedding that ZeRO-3 holds in pieces.

## What it means
After loading, Transformers gives values to what the checkpoint did not bring. Under ZeRO-3 it gathers these weights
first, and tells them by a flag; 4.57 loses the flag on its way, so that an embedding with a padding index is
initialised while this rank holds nothing of it. Gemma 3 is struck most often, models made from scratch also by 5.0
to 5.2.
## What it does to a run
`from_pretrained` raises IndexError about an index 0 in a dimension of size 0, on every rank.
## What to do
Upgrade or downgrade Transformers, or load without ZeRO-3's init.
## How it is found
In a log: by the exception with Transformers' own initialisation in the traceback.
## References
https://github.com/huggingface/transformers/issues/41762
https://github.com/huggingface/transformers/issues/43596
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py
https://github.com/huggingface/transformers/blob/v5.3.0/src/transformers/modeling_utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(
    id="TRF036", name="zero3-embedding-empty", severity=ERROR, since="0.1", affects={"transformers": ">=4.55,<5.3"}
)

SIGNATURES = (
    Signature(
        r"^IndexError: index (?P<index>\d{1,9}) is out of bounds for dimension 0 with size 0",
        frame=r"transformers[\\/]\S{0,120}:(?:_init_weights|_initialize_weights|initialize_weights)$",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Transformers initialises an embedding of which this rank holds nothing under ZeRO-3",
        "While the model is loaded, the row of the padding index is set to zero, and DeepSpeed has partitioned the "
        "weight already. Transformers 4.57 loses track of which weights the checkpoint brought (Gemma 3 is the usual "
        "victim). The checkpoint is fine.",
        "Upgrade: `pip install -U 'transformers>=5.3'`, or go back to `'transformers<4.57'` where TRL and vLLM ask "
        "for version 4. Without another version: train with ZeRO-2, or load before DeepSpeed's configuration is "
        "made (in an accelerate config `zero3_init_flag: false`).",
    ),
    zh=Words(
        "在 ZeRO-3 下,Transformers 初始化了一个本 rank 不持有任何部分的嵌入",
        "加载模型时要把填充索引那一行置零,而 DeepSpeed 已经切分了该权重。Transformers 4.57 记错了哪些权重已由检查点提供"
        "(Gemma 3 最常遇到)。检查点没有问题。",
        "升级:`pip install -U 'transformers>=5.3'`;若 TRL 和 vLLM 要求 4.x,则退回 `'transformers<4.57'`。"
        "不换版本时:使用 ZeRO-2,或在 DeepSpeed 配置生成之前加载(accelerate 配置中 `zero3_init_flag: false`)。",
    ),
)

LOG_COMMANDS = ("pip install -U 'transformers>=5.3'",)
