"""A parquet file has lists or structures in row groups that pyarrow cannot read in one piece.

## What it means
A column of lists or structures (messages, images, extra_info) whose row group holds more than 2 GB of text or bytes,
or dictionary pages, comes out of pyarrow in several chunks, and nested columns cannot be put together from chunks.
## What it does to a run
`load_dataset` or `read_parquet` ends while the file is read.
## What to do
Write the file again with small row groups, or in several files.
## How it is found
In a log: by pyarrow's message.
## References
https://github.com/apache/arrow/issues/32723
https://github.com/huggingface/datasets/issues/7793
https://github.com/RLHF-V/RLAIF-V/issues/5
https://github.com/Visual-Agent/DeepEyes/issues/97
https://github.com/rllm-org/rllm/pull/281
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="DAT052", name="parquet-nested-in-chunks", severity=ERROR, since="0.1")

CHUNKS = Message(
    en=Words(
        "a parquet file has a nested column in row groups too large for pyarrow to read",
        "One row group of a column of lists or structures (messages, images) holds more than 2 GB, so that "
        "pyarrow reads it in chunks, and nested columns cannot be put together from chunks. pandas writes the "
        "whole table as one row group.",
        'Write it again with small row groups: `pq.write_table(table, "new.parquet", row_group_size=100)` '
        "(`df.to_parquet(path, row_group_size=100)`), or split it into several files (`dataset.shard`), or keep "
        "long texts as JSON lines. To read the file as it is: `pl.read_parquet(path)` (polars), or "
        "`pq.ParquetFile(path).iter_batches(batch_size=10)`.",
    ),
    zh=Words(
        "parquet 文件中嵌套列的行组过大,pyarrow 无法读取",
        "列表或结构列(messages、images)的一个行组超过 2 GB,pyarrow 只能分块读取,而嵌套列无法由分块拼成。pandas 会"
        "把整张表写成一个行组。",
        '用较小的行组重写:`pq.write_table(table, "new.parquet", row_group_size=100)`(`df.to_parquet(path, '
        "row_group_size=100)`),或拆成多个文件(`dataset.shard`),或用 JSON lines 保存长文本。按原样读取:"
        "`pl.read_parquet(path)`(polars),或 `pq.ParquetFile(path).iter_batches(batch_size=10)`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"Nested data conversions not implemented for chunked array outputs"),
        CHUNKS,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
