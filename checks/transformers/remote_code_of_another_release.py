"""The code that came with a model does not fit the installed Transformers.

## What it means
Repositories with Python files of their own (`trust_remote_code=True`) were written against one release of
Transformers. Later ones move helpers, change what a cache or a layer returns and what methods are handed.
## What it does to a run
ImportError, AttributeError, TypeError or a failed unpacking inside the model's own file, while it is loaded, trained
or generates.
## What to do
Update the model's files, use the architecture that Transformers brings itself, or install the release named in its
`config.json`.
## How it is found
In a log: by exceptions whose innermost frames lie in the folder where Transformers keeps such code.
## References
https://huggingface.co/docs/transformers/custom_models
https://github.com/hiyouga/LlamaFactory/issues/4739
https://github.com/zai-org/GLM-4/issues/623
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF033", name="remote-code-of-another-release", severity=ERROR, since="0.1")

_FOLDER = r"transformers_modules[\\/]"

SIGNATURES = (
    Signature(r"^ImportError: cannot import name '(?P<what>\w{1,100})' from '(?P<library>transformers)", frame=_FOLDER),
    Signature(
        r"^AttributeError: '\w{1,100}' object has no attribute '(?P<what>\w{1,100})'",
        frame=_FOLDER,
        symptom_of=("TRF023",),
    ),
    Signature(r"^TypeError: \S{0,160}\(\) (?:got an unexpected|missing|takes) ", frame=_FOLDER),
    Signature(r"^ValueError: (?:too many|not enough) values to unpack", frame=_FOLDER),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model's own code ({place}) does not fit the installed Transformers",
        "The repository brings Python files (`trust_remote_code=True`) that were written for another release of "
        "Transformers: helpers have moved, caches and layers return something else. The weights are fine.",
        "Update the model's files (download the repository again; delete the copy under "
        "`~/.cache/huggingface/modules/transformers_modules`). Where Transformers has the architecture itself, load "
        "without `trust_remote_code=True`. Otherwise install the release that stands as `transformers_version` in the "
        "model's `config.json`: `pip install 'transformers==VERSION'`.",
    ),
    zh=Words(
        "模型自带的代码({place})与已安装的 Transformers 不匹配",
        "该仓库带有 Python 文件(`trust_remote_code=True`),是为另一版本的 Transformers 编写的:"
        "工具函数移动了位置,缓存和层返回的内容也变了。权重没有问题。",
        "更新模型文件(重新下载仓库,并删除 `~/.cache/huggingface/modules/transformers_modules` 下的副本)。"
        "若 Transformers 已内置该架构,则不带 `trust_remote_code=True` 加载。否则安装模型 `config.json` 中 "
        "`transformers_version` 所写的版本:`pip install 'transformers==VERSION'`。",
    ),
)

#: helpers of torch that hand a call through and never are the place of a fault
_THROUGH = re.compile(r"torch[\\/]nn[\\/]modules[\\/]module\.py:|accelerate[\\/]hooks\.py:|torch[\\/]utils[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Only where the model's own file raised; calls that are handed through by torch do not count."""
    frames = [frame for frame in hits.first.frames if not _THROUGH.search(frame)]
    if not frames or not re.search(_FOLDER, frames[-1]):
        return None
    place = re.split(r"[\\/]", frames[-1].rpartition(":")[0])[-1]
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        place=f"`{place}`",
    )  # fmt: skip
