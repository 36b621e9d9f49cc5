"""A token id that the model does not have is sent to vLLM.

## What it means
vLLM compares prompt ids with the vocabulary of its tokenizer and model. Ids of tokens that were added in
training, or of another tokenizer, are beyond it.
## What it does to a run
The request is refused.
## What to do
Let trainer and engine use the same tokenizer and model size.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/13175
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL043", name="token-out-of-vocabulary", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Token id (?P<id>\d{1,9}) is out of vocabulary"),)

LOG_MESSAGE = Message(
    en=Words(
        "token id {id} was sent to vLLM, whose vocabulary is smaller",
        "The ids come from another tokenizer than the engine's, from tokens that were added without "
        "being saved with the served model, or from padding of the embedding (ids between the "
        "tokenizer's size and `vocab_size`), which an unlimited sampling can produce.",
        "Serve the model with the trainer's tokenizer (`--tokenizer`), save both after adding tokens and "
        "calling `resize_token_embeddings`; for ids in the padding restrict sampling (`top_k`, "
        "`allowed_token_ids`) or mask them in the logits.",
    ),
    zh=Words(
        "向 vLLM 发送了 token id {id},而其词表更小",
        "这些 id 来自与引擎不同的分词器、没有随所服务模型保存的新增 token,或 embedding 的填充部分(分词器"
        "大小与 `vocab_size` 之间的 id),不受限的采样可能产生它们。",
        "用训练器的分词器提供服务(`--tokenizer`);新增 token 并调用 `resize_token_embeddings` 后同时保存两"
        "者;对于填充部分的 id,限制采样(`top_k`、`allowed_token_ids`)或在 logits 中屏蔽。",
    ),
)

LOG_CONFIDENCE = LIKELY
