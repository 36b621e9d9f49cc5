"""A column of the dataset outgrew what one Arrow array can address.

## What it means
Arrow's strings and lists hold 32-bit offsets: 2 GiB of text or bytes in one array, or 2^31 list elements. `map`
writes a batch as one array, so long rows times a large batch do not fit.
## What it does to a run
`map` or `load_dataset` raises ArrowInvalid, often after long work.
## What to do
Write smaller batches.
## How it is found
In a log: by Arrow's words.
## References
https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-layout
https://github.com/huggingface/datasets/issues/6206
https://github.com/hiyouga/LlamaFactory/issues/2561
https://huggingface.co/docs/datasets/package_reference/main_classes#datasets.Dataset.map
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT031", name="arrow-chunk-overflow", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ArrowInvalid: offset overflow while concatenating arrays"),
    Signature(r"(?:ArrowCapacityError|ArrowInvalid): (?:\w{1,20} )?array cannot contain more than"),
    Signature(r"OverflowError: There was an overflow with type [^\n]{1,200}\. Try to reduce writer_batch_size"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a batch of the dataset is too large for one Arrow array (2 GiB, 32-bit offsets)",
        "A column of long texts, images as bytes or token lists exceeds 2^31 bytes or elements within the "
        "batch that `map` writes as one array. More memory or disk does not help.",
        "Make batches smaller: `dataset.map(..., batched=True, batch_size=100, writer_batch_size=100)` "
        "(further down for images), LLaMA-Factory: `preprocessing_batch_size: 100`, ms-swift: `--streaming "
        "true`. If a single file overflows on loading, split it or cast the column to "
        '`Value("large_string")`; keep images as paths. Delete the half-written cache file first.',
    ),
    zh=Words(
        "数据集的一个批次超出了单个 Arrow 数组的上限(2 GiB,32 位偏移)",
        "长文本、以字节存储的图像或 token 列表在 `map` 作为一个数组写出的批次中超过了 2^31 字节或元素。增加"
        "内存或磁盘无济于事。",
        "减小批次:`dataset.map(..., batched=True, batch_size=100, writer_batch_size=100)`(图像需更小"
        "),LLaMA-Factory:`preprocessing_batch_size: 100`,ms-swift:`--streaming true`。若加载单个文件就溢出,"
        '拆分文件或把该列转为 `Value("large_string")`;图像只存路径。先删除写了一半的缓存文件。',
    ),
)

#: reading of chosen rows overflows in the same words
LOG_CONFIDENCE = LIKELY
