"""ms-swift's classification or regression task put a placeholder where code reads the weight of the output layer.

## What it means
For `--task_type seq_cls` (and reward models) ms-swift replaces the output layer of a generative model by an `Identity`
and puts a `score` layer behind it. Code that reads `lm_head.weight` finds none: Transformers 5 when it fills in missing
weights, Liger's fused loss, DeepSpeed's estimates.
## What it does to a run
AttributeError while the model is loaded or at the first step.
## What to do
Upgrade ms-swift, and leave Liger's kernels off.
## How it is found
In a log: by the exception; frames of Transformers or Liger tell which.
## References
https://github.com/modelscope/ms-swift/issues/8170
https://github.com/modelscope/ms-swift/issues/6629
https://github.com/modelscope/ms-swift/issues/4793
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF071", name="classification-head-is-identity", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: (?:Identity has no attribute `weight`|'Identity' object has no attribute 'weight')",
        frame=r"(?:transformers[\\/]modeling_utils|(?:swift|liger_kernel)[\\/][\w\\/.\-]{1,120})\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the output layer was replaced by an `Identity`, and code reads its weight",
        "Classification and regression on a generative model (ms-swift's `--task_type seq_cls`, reward models) take "
        "the vocabulary layer out and add a `score` layer. Transformers 5, Liger's fused loss and other code still "
        "look for the old one's weight.",
        "With ms-swift: upgrade it (`pip install -U ms-swift`, fixed in March 2026), or `pip install "
        "'transformers<5'` until then; take `--use_liger_kernel true` out. In code of your own leave the layer as it "
        "is and load the model with `AutoModelForSequenceClassification`.",
    ),
    zh=Words(
        "输出层被替换为 `Identity`,而代码要读取它的权重",
        "在生成式模型上做分类或回归(ms-swift 的 `--task_type seq_cls`、奖励模型)会去掉词表输出层并加上 `score` 层。"
        "Transformers 5、Liger 的融合损失等代码仍会读取旧层的权重。",
        "使用 ms-swift 时升级它(`pip install -U ms-swift`,2026 年 3 月已修复),在此之前可 `pip install "
        "'transformers<5'`;去掉 `--use_liger_kernel true`。自己的代码中保留该层,用 "
        "`AutoModelForSequenceClassification` 加载模型。",
    ),
)

LOG_CONFIDENCE = LIKELY
