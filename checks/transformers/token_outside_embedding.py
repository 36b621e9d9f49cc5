"""A token id lies beyond the embedding of the model.

## What it means
Tokens were added to the tokenizer (a pad token, special tokens of a template) and the embedding was not
enlarged, or the tokenizer belongs to another model; positions beyond the model's window fail in the same
way.
## What it does to a run
On the CPU the first such batch raises IndexError; on a GPU it is a device-side assert.
## What to do
Resize the embedding, or use the model's own tokenizer.
## How it is found
In a log: by the IndexError of the embedding, where a library's model looks the ids up.
## References
https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.resize_token_embeddings
https://pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF020", name="token-outside-embedding", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^IndexError: index out of range in self", frame=r"torch/nn/functional\.py:embedding"),)

LOG_MESSAGE = Message(
    en=Words(
        "a token id (or position) lies outside the model's embedding",
        "The tokenizer gives ids that the embedding has no row for: a token was added "
        "(`add_special_tokens`, a new pad token) without resizing, tokenizer and model do not belong "
        "together, or the sequence is longer than a model with learned positions allows.",
        "Compare `len(tokenizer)` with `model.get_input_embeddings().num_embeddings`; call "
        "`model.resize_token_embeddings(len(tokenizer))` after adding tokens (or use "
        "`tokenizer.pad_token = tokenizer.eos_token` instead of a new one), and cut sequences to "
        "`model.config.max_position_embeddings`.",
    ),
    zh=Words(
        "某个 token id(或位置)超出模型的嵌入范围",
        "分词器给出的 id 在嵌入中没有对应的行:添加了 token(`add_special_tokens`、新的 pad token)而没有扩"
        "展嵌入,分词器与模型不匹配,或序列长于使用可学习位置的模型所允许的长度。",
        "比较 `len(tokenizer)` 与 `model.get_input_embeddings().num_embeddings`;添加 token 后调用 "
        "`model.resize_token_embeddings(len(tokenizer))`(或用 `tokenizer.pad_token = "
        "tokenizer.eos_token` 而不新增),并把序列截断到 `model.config.max_position_embeddings`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """An embedding that the user's own code looks up is not one of a language model's tokens, as far as is known."""
    asking = next((each for each in reversed(hits.first.frames) if "torch/nn/" not in each), "")
    if asking in hits.first.own:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
