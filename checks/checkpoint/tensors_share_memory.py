"""Tied weights cannot be written by safetensors' plain writer.

## What it means
Input and output embeddings of many models are one tensor. `safetensors.torch.save_file` refuses tensors
that share memory; `save_pretrained` knows which ones to leave out, a Trainer around a wrapped or custom
model does not.
## What it does to a run
The first save raises RuntimeError, and the run ends with it.
## What to do
Save with `save_pretrained`, or untie or clone the tensors.
## How it is found
In a log: by the exception of safetensors.
## References
https://huggingface.co/docs/safetensors/torch_shared_tensors
https://github.com/huggingface/safetensors/blob/v0.5.3/bindings/python/py_src/safetensors/torch.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP010", name="tensors-share-memory", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Some tensors share memory, this will lead to duplicate memory on disk"),
    Signature(r"RuntimeError: The weights trying to be saved contained shared tensors"),
)

LOG_MESSAGE = Message(
    en=Words(
        "tied weights (shared tensors) could not be saved as safetensors",
        "Two names of the state dict are one tensor, usually `lm_head.weight` and `embed_tokens.weight`, "
        "and the writer does not know which to leave out: the model is wrapped, is no PreTrainedModel, "
        "or names no `_tied_weights_keys`.",
        "Save through `model.save_pretrained(...)` of the inner model or `safetensors.torch.save_model`; "
        "with an older Trainer set `save_safetensors=False`; or untie: `model.config.tie_word_embeddings "
        "= False` and clone the tensor.",
    ),
    zh=Words(
        "绑定权重(共享张量)无法保存为 safetensors",
        "state dict 中两个名称是同一个张量,通常是 `lm_head.weight` 和 `embed_tokens.weight`,而写入器不知"
        "道该省略哪个:模型被包装、不是 PreTrainedModel,或没有声明 `_tied_weights_keys`。",
        "用内部模型的 `model.save_pretrained(...)` 或 `safetensors.torch.save_model` 保存;旧版 Trainer 可"
        "设置 `save_safetensors=False`;或解除绑定:`model.config.tie_word_embeddings = False` 并克隆该张量"
        "。",
    ),
)
