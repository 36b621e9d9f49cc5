"""The tokenizer cannot be converted: a library is missing.

## What it means
A model without `tokenizer.json` has a SentencePiece or tiktoken vocabulary that is converted at load time,
which takes those libraries (and protobuf). The same words come where the vocabulary file itself is broken
or a Git LFS pointer.
## What it does to a run
`AutoTokenizer.from_pretrained` raises before training.
## What to do
Install sentencepiece, tiktoken and protobuf; if they are there, download the tokenizer's files again.
## How it is found
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/fast_tokenizers
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/tokenization_utils_fast.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF015", name="tokenizer-library-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Converting from (?:SentencePiece and )?Tiktoken failed"),
    Signature(r"ValueError: Couldn't instantiate the backend tokenizer from one of"),
    Signature(r"ValueError: Cannot instantiate this tokenizer from a slow version"),
    Signature(
        r"ImportError:? ?[^\n]{0,80} requires the (?:SentencePiece|protobuf|tiktoken) library but it"
        r" was not found",
    ),
    Signature(
        r"^(?P<tokenizer>\w{1,60}Converter|\w{1,60}Tokenizer\w{0,8}) requires the"
        r" (?:SentencePiece|protobuf) library but it was not found",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the tokenizer could not be built: `sentencepiece`, `tiktoken` or `protobuf` is missing",
        "The model has no ready `tokenizer.json`, so its vocabulary is converted at load time with these "
        "libraries. Where they are installed, the vocabulary file is broken or incomplete.",
        "Install them, `pip install -U sentencepiece tiktoken protobuf`, and restart the interpreter; if "
        "that does not help, download the tokenizer's files again (a file of some hundred bytes is a Git "
        "LFS pointer).",
    ),
    zh=Words(
        "无法构建分词器:缺少 `sentencepiece`、`tiktoken` 或 `protobuf`",
        "该模型没有现成的 `tokenizer.json`,加载时用这些库转换其词表。如果已安装,则词表文件损坏或不完整。",
        "安装它们:`pip install -U sentencepiece tiktoken protobuf`,并重启解释器;如仍无效,重新下载分词器文"
        "件(只有几百字节的文件是 Git LFS 指针)。",
    ),
)

LOG_COMMANDS = ("pip install -U sentencepiece tiktoken protobuf",)

LOG_CONFIDENCE = LIKELY
