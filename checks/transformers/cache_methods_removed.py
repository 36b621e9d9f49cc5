"""Model code of its own calls cache methods that Transformers removed.

## What it means
A repository with custom code (`trust_remote_code=True`) was written for an older key-value cache.
`get_max_length` is gone from the Cache classes since 4.49, `seen_tokens` and `get_usable_length` since 4.54, and the
conversion from and to tuples since 5.0.
## What it does to a run
The first `generate` (or training step with the cache on) raises AttributeError.
## What to do
Use the model's implementation that Transformers brings, or the release that the code was written for.
## How it is found
In a log: by the attribute that the cache class lacks.
## References
https://huggingface.co/docs/transformers/kv_cache
https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/cache_utils.py
https://github.com/huggingface/transformers/blob/v4.54.0/src/transformers/cache_utils.py
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/cache_utils.py
https://github.com/HandsOnLLM/Hands-On-Large-Language-Models/issues/69
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF023", name="cache-methods-removed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?P<cache>\w{0,40}Cache)' object has no attribute "
        r"'(?P<name>get_max_length|seen_tokens|get_usable_length|_seen_tokens|key_cache|"
        r"value_cache|to_legacy_cache|from_legacy_cache)'"
    ),
    Signature(
        r"AttributeError: '(?P<cache>tuple|list)' object has no attribute "
        r"'(?P<name>get_seq_length|get_usable_length)'"
    ),
    Signature(
        r"AttributeError: '(?P<cache>tuple|list)' object has no attribute '(?P<name>update)'",
        frame=r"[\\/]modeling_\w{1,60}\.py:",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "the model's code asks the key-value cache (`{cache}`) for `{name}`, which this Transformers lacks",
        "The model brings code of its own (`trust_remote_code=True`, a copied modeling file) "
        "that was written for another version of Transformers' cache classes.",
        "Load without `trust_remote_code=True` where Transformers has the architecture itself, "
        "update the model's files, or install the version that the model card names (for "
        '`get_max_length` one before 4.49: `pip install "transformers<4.49"`; for `seen_tokens` and '
        "`get_usable_length` one before 4.54). For training alone, `model.config.use_cache = False` avoids it.",
    ),
    zh=Words(
        "模型代码向键值缓存(`{cache}`)请求 `{name}`,而此 Transformers 没有它",
        "模型自带代码(`trust_remote_code=True`,或复制的 modeling 文件),是为另一版本的 Transformers 缓存类编写的。",
        "若 Transformers 已内置该架构,则不带 `trust_remote_code=True` 加载;或更新模型文件;"
        "或安装模型说明中的版本(`get_max_length` 需 4.49 之前:`pip install "
        '"transformers<4.49"`;`seen_tokens`、`get_usable_length` 需 4.54 之前)。仅训练时,设 '
        "`model.config.use_cache = False` 可避免。",
    ),
)
