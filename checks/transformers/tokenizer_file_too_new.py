"""`tokenizer.json` was written by a newer tokenizers than the one installed.

## What it means
The file describes a part (normalizer, pre-tokenizer, model) in a form that the installed `tokenizers` does
not know: the tokenizer was saved with a newer release.
## What it does to a run
Loading the tokenizer raises a plain Exception about an untagged enum.
## What to do
Upgrade tokenizers and Transformers together.
## How it is found
In a log: by the deserializer's words.
## References
https://github.com/huggingface/tokenizers/releases
https://github.com/huggingface/transformers/issues/31789
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF025", name="tokenizer-file-too-new", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Exception: data did not match any variant of untagged enum (?P<part>\w{1,40})"),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "`tokenizer.json` holds a part (`{part}`) that the installed tokenizers does not know",
        "The tokenizer was saved by a newer release of `tokenizers` than the one here; less often the file is damaged.",
        "Upgrade both together: `pip install -U transformers tokenizers`; if a pin forbids it, "
        "load the original tokenizer of the base model instead, or save it again with the older "
        "version.",
    ),
    zh=Words(
        "`tokenizer.json` 含有已安装的 tokenizers 不认识的部分(`{part}`)",
        "分词器由比此处更新的 `tokenizers` 保存;少数情况是文件损坏。",
        "两者一起升级:`pip install -U transformers tokenizers`;若版本固定无法升级,"
        "则改为加载基座模型的原始分词器,或用旧版本重新保存。",
    ),
)
