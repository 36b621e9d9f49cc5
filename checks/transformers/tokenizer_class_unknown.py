"""The tokenizer's configuration names a class that the installed Transformers does not have.

## What it means
`tokenizer_config.json` says which class reads the files. A checkpoint that Transformers 5 saved says
`TokenizersBackend`, which Transformers 4 does not know; a new model brings a new class; an old repository spells one
wrongly (`LLaMATokenizer`); a class of its own needs `trust_remote_code`.
## What it does to a run
`AutoTokenizer.from_pretrained` raises ValueError on every rank, in the trainer or in the engine.
## What to do
Use a Transformers as new as the one that saved the checkpoint, or write the class that the model had.
## How it is found
In a log: by the exception, which names the class.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/models/auto/tokenization_auto.py
https://github.com/huggingface/transformers/issues/22222
https://github.com/huggingface/transformers/issues/47553
https://github.com/hiyouga/LlamaFactory/issues/9699
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF046", name="tokenizer-class-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Tokenizer class (?P<name>\w{2,60}) does not exist or is not currently imported"),
    Signature(r"ValueError: Tokenizer class '(?P<name>\w{2,60})' specified in the tokenizer config was not found"),
    Signature(r"ValueError: Tokenizer class (?P<name>\w{2,60}) is not currently imported"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the tokenizer's files name the class `{name}`, which Transformers{version} does not have",
        "The files come from another release of Transformers, or from a model that brings its own class.",
        "Upgrade: `pip install -U transformers`. Where that cannot be, copy `tokenizer_config.json` from the "
        "base model over the checkpoint's, or set its `tokenizer_class` to the class of the base model. A class that "
        "stands in the repository itself needs `trust_remote_code=True`.",
    ),
    zh=Words(
        "分词器文件指定了类 `{name}`,而 Transformers{version} 没有该类",
        "这些文件来自另一版本的 Transformers,或来自自带类的模型。",
        "升级:`pip install -U transformers`。若不能升级,用基座模型的 `tokenizer_config.json` 覆盖检查点中的同名文件,"
        "或把其中的 `tokenizer_class` 改为基座模型的类。仓库自带的类需要 `trust_remote_code=True`。",
    ),
)
NEWER = Message(
    en=Words(
        "the tokenizer was saved by Transformers 5 (`{name}`), and Transformers{version} is to read it",
        "Transformers 5 writes `{name}` into `tokenizer_config.json`; release 4 has no such class.",
        "Use Transformers 5 here as well (`pip install -U transformers`, in the engine's environment too), or copy "
        "`tokenizer_config.json` and `tokenizer.json` from the base model over those of the checkpoint.",
    ),
    zh=Words(
        "分词器由 Transformers 5 保存(`{name}`),却要由 Transformers{version} 读取",
        "Transformers 5 在 `tokenizer_config.json` 中写入 `{name}`;第 4 版没有这个类。",
        "在此处(以及推理引擎的环境中)也使用 Transformers 5(`pip install -U transformers`),或用基座模型的 "
        "`tokenizer_config.json` 和 `tokenizer.json` 覆盖检查点中的文件。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """`TokenizersBackend` tells who wrote it."""
    name, installed = hits.get("name") or "", hits.versions.get("transformers")
    message = NEWER if name in ("TokenizersBackend", "SentencePieceBackend", "PythonBackend") else LOG_MESSAGE
    version = f" {installed}" if installed else " 4" if message is NEWER else ""
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), name=name, version=version)
