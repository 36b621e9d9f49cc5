"""The local dataset file cannot be read.

## What it means
A line is not valid JSON, a row has another number of fields, or the file is not what its name says.
## What it does to a run
`load_dataset` raises while it builds the dataset, or the trainer when it comes to that row.
## What to do
Mend or remove the line.
## How it is found
The file was read as its name says, line by line where it is JSON lines.
In a log: by the exception of pyarrow or of the JSON reader.
## References
https://huggingface.co/docs/datasets/loading
https://jsonlines.org/
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.dataset import Dataset

PROBLEM = Problem(id="DAT006", name="dataset-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ArrowInvalid|DatasetGenerationError|JSONDecodeError|ValueError): JSON parse error: (?!Column\(/?[^)\n])",
        symptom_of=("DAT032",),
    ),
    Signature(r"ArrowInvalid: (?P<straddling>straddling object) straddles two block boundaries"),
    Signature(r"ArrowInvalid: Parquet (?:magic bytes not found in footer|file size is)"),
    Signature(
        r"(?:^|\.)JSONDecodeError: (?:Expecting|Extra data|Invalid|Unterminated)",
        frame=r"datasets/packaged_modules/json/json\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a data file of the dataset cannot be parsed",
        "The file is not what its name says: broken JSON (a cut line, one object over several lines, "
        "values of two types in one field), or a Parquet file that was not written to its end or is a "
        "Git LFS pointer.",
        "Look at the file that is named above the exception: `head -c 200 FILE`, check it line by line "
        "(`python -c \"import json; [json.loads(l) for l in open('FILE')]\"`), and mend or download it "
        "again.",
    ),
    zh=Words(
        "数据集的某个数据文件无法解析",
        "文件与其名称不符:JSON 损坏(行被截断、一个对象跨多行、同一字段有两种类型),或 Parquet 文件未写完、"
        "只是 Git LFS 指针。",
        '查看异常上方给出的文件:`head -c 200 FILE`,逐行检查(`python -c "import json; [json.loads(l) for '
        "l in open('FILE')]\"`),修复或重新下载。",
    ),
)

STRADDLING = Message(
    en=Words(
        "a JSON file of the dataset holds one object that is larger than a block of the reader",
        "The reader takes one object a line. A file that is one large list or object, or a row of many megabytes "
        "(images in base64), does not end inside of a block.",
        "Write one object a line: `python -c \"import json; rows = json.load(open('in.json')); open('out.jsonl', 'w')"
        ".writelines(json.dumps(r) + chr(10) for r in rows)\"`. For a list under a key: `load_dataset('json', "
        "data_files=..., field='data')`. For large rows keep images as files, or `chunksize=100 << 20`.",
    ),
    zh=Words(
        "数据集的某个 JSON 文件含有比读取块更大的对象",
        "读取器要求每行一个对象。整个文件是一个大列表或大对象,或某一行有数兆字节(base64 图像),就无法在一个块内结束。",
        "每行写一个对象:`python -c \"import json; rows = json.load(open('in.json')); open('out.jsonl', "
        "'w').writelines(json.dumps(r) + chr(10) for r in rows)\"`。列表位于某个键下时:`load_dataset('json', "
        "data_files=..., field='data')`。行很大时把图像存为文件,或使用 `chunksize=100 << 20`。",
    ),
)


MESSAGE = Message(
    en=Words(
        "`{path}` cannot be read as a dataset: {message}",
        "Loading the dataset fails, before or in the middle of the training.",
        "Mend the file at that place, or remove the row.",
    ),
    zh=Words(
        "无法把 `{path}` 作为数据集读取:{message}",
        "数据集加载会在训练之前或训练途中失败。",
        "修复该处,或删除该行。",
    ),
)


@check(PROBLEM)
def dataset_broken(dataset: Dataset) -> Judgement:
    """Hand on what the reader found."""
    if dataset.broken is not None:
        place = dataset.broken.place
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=place.file, line=place.line, column=place.column),
            path=dataset.path.rpartition("/")[2],
            message=dataset.broken.message.rstrip("."),
        )


def explain(hits: Hits) -> Finding:
    """An object that is too large is no broken file."""
    message = STRADDLING if hits.get("straddling") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
