"""The installed Transformers needs a newer torch for its table of parallel styles.

## What it means
Releases from 4.52 on look each model's plan of tensor parallelism up in a table that they fill with torch 2.5 or newer
and a torch that was built with distributed support. Otherwise the table is `None`, and every model with such a plan
(Llama, Qwen2, Qwen3, Mistral and more) fails to load, also on one GPU.
## What it does to a run
TypeError while the model is built.
## What to do
Install torch 2.5 or newer, or Transformers 4.51.3.
## How it is found
In a log: by a TypeError about None in `post_init` of Transformers' models.
## References
https://github.com/modelscope/ms-swift/issues/4843
https://github.com/huggingface/transformers/blob/v4.53.0/src/transformers/modeling_utils.py
https://github.com/hunwenpinghao/agent_data_collect/blob/main/README_ISSUE.md
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF064", name="parallel-styles-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^TypeError: argument of type 'NoneType' is not (?:iterable|a container or iterable)$",
        frame=r"transformers[\\/]modeling_utils\.py:post_init$",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Transformers is too new for the installed torch: its table of parallel styles is empty",
        "From 4.52 on Transformers checks a model's plan of tensor parallelism when the model is built, against a "
        "table "
        "that it fills only with torch 2.5 or newer (built with distributed support). It happens on one GPU, too.",
        'Upgrade torch (`pip install -U "torch>=2.5"`, with what is built against it: vllm, flash-attn), or go back to '
        '`pip install "transformers==4.51.3"`, which does not check.',
    ),
    zh=Words(
        "所装 Transformers 对所装 torch 来说太新:其并行方式表为空",
        "从 4.52 起,Transformers 在构建模型时核对其张量并行计划,而该表只有在 torch 2.5 及以上(带分布式支持)时才会填充。"
        "单卡也会如此。",
        '升级 torch(`pip install -U "torch>=2.5"`,连同依赖它编译的 vllm、flash-attn),或退回不做该检查的 '
        '`pip install "transformers==4.51.3"`。',
    ),
)
