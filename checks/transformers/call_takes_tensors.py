"""The model is called with what a tokenizer returned as it is: a mapping, or lists, where tensors are expected.

## What it means
A tokenizer returns a mapping (`BatchEncoding`) of lists, or of tensors with `return_tensors="pt"`. `generate` and
`forward` take the tensors by name, so the mapping has to be unpacked with `**`.
## What it does to a run
The first call raises AttributeError, because a list or a mapping has no `shape`.
## What to do
`model.generate(**tokenizer(text, return_tensors="pt").to(model.device))`.
## How it is found
In a log: by that AttributeError, raised in Transformers' own generation or modelling code.
## References
https://huggingface.co/docs/transformers/main/en/llm_tutorial
https://huggingface.co/docs/transformers/main/en/main_classes/tokenizer#transformers.BatchEncoding
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF065", name="call-takes-tensors", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"^AttributeError(?:: (?:'BatchEncoding' object has no attribute '(?:shape|size|device|dim"
            r")'|(?:shape|size|device|dim)))?$"
        ),
        r"[\\/]tokenization_utils_base\.py:__getattr__",
        Message(
            en=Words(
                "the tokenizer's whole answer was passed where a tensor is expected",
                "A tokenizer returns a mapping with `input_ids` and `attention_mask`; the function asked it for the "
                "shape of a tensor.",
                "Unpack it: `model.generate(**inputs)` and `model(**inputs)`, with `inputs = tokenizer(text, "
                'return_tensors="pt").to(model.device)`; or pass `inputs["input_ids"]`.',
            ),
            zh=Words(
                "把分词器的整个返回值传给了需要张量的地方",
                "分词器返回含 `input_ids` 和 `attention_mask` 的映射;被调用的函数要取张量的形状。",
                "展开它:`model.generate(**inputs)`、`model(**inputs)`,其中 `inputs = tokenizer(text, "
                'return_tensors="pt").to(model.device)`;或传 `inputs["input_ids"]`。',
            ),
        ),
    ),
    (
        (
            r"^AttributeError: 'list' object has no attribute '(?:shape|size|dim|device|to|ndim|new_on"
            r"es|long)'"
        ),
        (
            r"[\\/]transformers[\\/](?:generation[\\/]utils|models[\\/]\w+[\\/]modeling_\w+|modeling_"
            r"\w+)\.py:"
        ),
        Message(
            en=Words(
                "the model got lists where tensors are expected",
                'Without `return_tensors` a tokenizer returns lists, and a dataset without `set_format("torch")` '
                "does too.",
                '`tokenizer(text, return_tensors="pt", padding=True)`; for rows of a dataset '
                '`dataset.set_format("torch")`, or a collator that makes tensors (`DataCollatorWithPadding`).',
            ),
            zh=Words(
                "模型得到的是列表,而需要张量",
                '不带 `return_tensors` 时分词器返回列表;没有 `set_format("torch")` 的数据集也是。',
                '`tokenizer(text, return_tensors="pt", padding=True)`;数据集的行用 `dataset.set_format("torch")`,或'
                "使用会生成张量的 collator(`DataCollatorWithPadding`)。",
            ),
        ),
    ),
    (
        (
            r"^(?:AttributeError: 'str' object has no attribute '(?:shape|size|device|to)'|TypeError: "
            r"(?:embedding\(\): argument 'indices' \(position 2\) must be Tensor, not (?:str|list|Batc"
            r"hEncoding)))"
        ),
        (
            r"[\\/]transformers[\\/](?:generation[\\/]utils|models[\\/]\w+[\\/]modeling_\w+|modeling_"
            r"\w+)\.py:"
        ),
        Message(
            en=Words(
                "the model got text or lists where token ids are expected",
                "A model takes ids as tensors, not text: the tokenizer's step was left out, or its answer was not "
                "turned into tensors.",
                '`inputs = tokenizer(text, return_tensors="pt").to(model.device)`, then `model.generate(**inputs)`; '
                'for text in, text out use `pipeline("text-generation", model=...)`.',
            ),
            zh=Words(
                "模型得到的是文本或列表,而需要 token id",
                "模型接受张量形式的 id,而不是文本:缺少分词这一步,或分词结果没有转成张量。",
                '`inputs = tokenizer(text, return_tensors="pt").to(model.device)`,然后 `model.generate(**inputs)`;若'
                '要直接输入输出文本,用 `pipeline("text-generation", model=...)`。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, LIKELY)
