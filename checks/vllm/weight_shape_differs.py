"""A weight that is handed to vLLM has another shape than its own.

## What it means
The shapes of a model follow from its config.json. When the rollout engine was started with another model,
size or vocabulary than the trainer has, the weights do not fit.
## What it does to a run
Loading, or the first weight transfer, ends with an AssertionError.
## What to do
Start server and trainer with the same model.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/trl/blob/v1.0.0/docs/source/vllm_integration.md
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/model_loader/weight_utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL038", name="vllm-weight-shape-differs", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Attempted to load weight \((?:torch\.Size\()?\[(?P<sent>[\d, ]{0,60})\]\)?\) into parameter"
        r" \((?:torch\.Size\()?\[(?P<own>[\d, ]{0,60})\]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a weight of shape [{sent}] was handed to vLLM, whose own is [{own}]",
        "The two models differ: the server or rollout engine runs another model, another size or another "
        "vocabulary (tokens added, embeddings resized) than the checkpoint or trainer. Under ZeRO-3 an "
        "empty [0] means that a partitioned weight was not gathered.",
        "Start the server with exactly the trainer's model (`--model`), save and serve the model after "
        "`resize_token_embeddings`, and compare `hidden_size` and `vocab_size` in both config.json "
        "files. For [0] keep `ds3_gather_for_generation=True`.",
    ),
    zh=Words(
        "交给 vLLM 的权重形状为 [{sent}],而它自己的是 [{own}]",
        "两边的模型不同:服务器或 rollout 引擎运行的模型、规模或词表(新增 token、调整过 embedding)与检查点"
        "或训练器不一致。在 ZeRO-3 下,空的 [0] 表示分片的权重没有收集。",
        "用与训练器完全相同的模型启动服务器(`--model`);`resize_token_embeddings` 之后保存模型并用它启动;"
        "比较两边 config.json 的 `hidden_size` 和 `vocab_size`。若为 [0],保持 "
        "`ds3_gather_for_generation=True`。",
    ),
)

LOG_CONFIDENCE = LIKELY
