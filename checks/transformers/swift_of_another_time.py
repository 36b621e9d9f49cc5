"""ms-swift does not fit the packages beside it.

## What it means
ms-swift derives from the trainers of Transformers and TRL and patches vLLM. Other releases of these have other
attributes, arguments and batch entries, and the code in between fails; `pip install -e .` of an old checkout, or one
that was updated without its requirements, does the same.
## What it does to a run
AttributeError, TypeError or KeyError in ms-swift's own code, when the trainer is made or at the first step.
## What to do
Bring ms-swift and its requirements to one time.
## How it is found
In a log: by exceptions whose innermost frame is ms-swift's trainer.
## References
https://github.com/modelscope/ms-swift/issues/1702
https://github.com/modelscope/ms-swift/issues/3259
https://github.com/modelscope/ms-swift/issues/3470
https://swift.readthedocs.io/en/latest/GetStarted/SWIFT-installation.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF050", name="swift-of-another-time", severity=ERROR, since="0.1")

_SWIFT = r"swift[\\/](?:trainers|rlhf_trainers|llm[\\/]train|pipelines|arguments|plugin)[\\/]"

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<owner>(?!\w{0,60}(?:Error|Exception|Timeout)')\w{1,80})' object has no attribute "
        r"'(?P<name>(?!last_model_checkpoint')\w{1,80})'",
        frame=_SWIFT,
        symptom_of=("TRL", "TRF", "VLL", "DAT", "RAY", "DSP", "PFT"),
    ),
    Signature(
        r"^TypeError: (?:\w{1,60}\.)?(?P<name>\w{1,80})\(\) (?:takes \d|missing \d|got an unexpected keyword)",
        frame=_SWIFT,
        symptom_of=("TRL", "TRF", "VLL", "DAT", "RAY", "DSP", "PFT"),
    ),
    Signature(
        r"^KeyError: '(?P<name>(?:prompt|chosen|rejected|concatenated|completion|per_token)_\w{1,40}|train|eval)'$",
        frame=_SWIFT,
        symptom_of=("TRL", "TRF", "DAT"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "ms-swift's trainer does not find `{name}`: it and the packages beside it are of different times",
        "ms-swift builds on the trainers of TRL and Transformers and on vLLM; what it expects there "
        "changes with their releases. A mistake of that release of ms-swift itself looks the same and is "
        "mended in the next.",
        "Upgrade ms-swift together with its requirements: `pip install -U ms-swift`, from git `git pull && "
        "pip install -e .`. Then `pip check`, and install the TRL, Transformers and vLLM inside the ranges "
        "that it names (`requirements/framework.txt`, and the table in its installation guide). If the "
        'newest one fails, take the release before: `pip install "ms-swift==VERSION"`. Delete a copy of '
        "`swift/` in the working directory that shadows the installed one.",
    ),
    zh=Words(
        "ms-swift 的训练器找不到 `{name}`:它与旁边的包版本不属于同一时期",
        "ms-swift 建立在 TRL、Transformers 的训练器和 vLLM 之上,其所依赖的内容会随这些包的版本变化。"
        "ms-swift 该版本自身的缺陷也是这种表现,并会在下一版修复。",
        "连同依赖一起升级 ms-swift:`pip install -U ms-swift`,源码安装则 `git pull && pip install -e .`。然"
        "后 `pip check`,并把 TRL、Transformers、vLLM 安装在其给出的范围内(`requirements/framework.txt` 和安"
        '装文档中的表)。若最新版失败,安装前一版本:`pip install "ms-swift==VERSION"`。删除工作目录中遮蔽已安'
        "装版本的 `swift/` 副本。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only what fails in ms-swift's own frames; a plugin of the user, a collator or a model is another matter."""
    frames = [frame for frame in hits.first.frames if not re.search(r"torch[\\/]nn[\\/]modules", frame)]
    if not frames or not re.search(_SWIFT, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
    )
