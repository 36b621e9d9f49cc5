"""A column holds numpy arrays of two or more dimensions where Arrow takes flat ones.

## What it means
Arrow keeps lists of flat values. `datasets` turns a matrix or an image into nested lists in most places, and not where
a batched `map` returns one array for the whole batch beside declared features, or where the features of a stream are
guessed.
## What it does to a run
ArrowInvalid in `map` or when a stream is first read.
## What to do
Return lists of arrays, one a row, or nested lists.
## How it is found
In a log: by Arrow's message.
## References
https://github.com/huggingface/datasets/issues/2921
https://github.com/huggingface/datasets/issues/2987
https://github.com/huggingface/datasets/issues/7100
https://github.com/huggingface/datasets/pull/8319
https://github.com/NielsRogge/Transformers-Tutorials/issues/36
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT064", name="array-of-more-dimensions", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ArrowInvalid: \(?['\"]?Can only convert 1-dimensional array values"),)

LOG_MESSAGE = Message(
    en=Words(
        "a column of the dataset was given arrays of two or more dimensions",
        "Arrow takes flat arrays. Mostly the function of a batched `map` returns one array for a whole batch (pixel "
        "values, boxes, embeddings) beside `features=`, or a stream's `map` returns matrices and its features are "
        "guessed from them.",
        "Return one entry a row: `batch['image'] = list(batch['image'])`, or nested lists (`array.tolist()`), and "
        "declare the column as `Array2D`/`Array3D` of that shape. For streams pass `features=` to `map`. "
        "`pip install -U datasets` takes some of these by itself.",
    ),
    zh=Words(
        "数据集的某一列得到了二维或更高维的数组",
        "Arrow 只接受一维数组。多半是批量 `map` 的函数在声明了 `features=` 时为整个批次返回一个数组(像素、框、向量),"
        "或流式数据集的 `map` 返回矩阵,而其特征类型由此推断。",
        "每行返回一个元素:`batch['image'] = list(batch['image'])`,或嵌套列表(`array.tolist()`),并把该列声明为相应形状"
        "的 `Array2D`/`Array3D`。流式数据集请给 `map` 传 `features=`。`pip install -U datasets` 能自动处理其中一部分。",
    ),
)

LOG_CONFIDENCE = LIKELY
