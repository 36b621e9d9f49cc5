"""An older TRL takes every optional package for installed.

## What it means
TRL up to 0.28 asks Transformers' private `_is_package_available`; in Transformers 5 that answers with a pair, which
is always true. TRL then imports `mergekit`, `llm_blender`, `weave` and others although they are not there.
## What it does to a run
`from trl import GRPOTrainer` raises; nothing runs.
## What to do
Upgrade TRL, or keep Transformers below 5.
## How it is found
In a log: by a package that TRL uses only where it is present, and does not find.
## References
https://github.com/huggingface/trl/blob/v0.28.0/trl/import_utils.py
https://github.com/huggingface/trl/blob/v0.29.0/trl/import_utils.py
https://github.com/modelscope/ms-swift/issues/9261
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL059", name="optional-package-presumed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<module>mergekit|llm_blender|weave|joblib|diffusers|vllm_ascend|"
        r"unsloth|uvicorn|fastapi|requests|pydantic|jmespath)'",
        frame=r"[\\/]trl[\\/](?!scripts)",
    ),
    Signature(
        r"RuntimeError: Failed to import (?P<part>trl\.[\w.]{1,80}) because of the following error",
        kind="sign",
    ),
    Signature(r"^No module named '(?P<module>mergekit|llm_blender|weave|joblib|diffusers|vllm_ascend|unsloth)'$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "TRL imports `{module}`, an optional package that is not installed",
        "TRL up to 0.28 finds out with a private function of Transformers whether optional packages are "
        "there; Transformers 5 answers it with a pair, which always counts as yes. So TRL takes every "
        "optional package for installed, and its trainers cannot be imported.",
        'Upgrade TRL: `pip install -U "trl>=0.29"`, or keep Transformers of its time: `pip install '
        '"transformers<5"`. Where TRL must stay (ms-swift and Unsloth name a range), take the Transformers '
        "that this release names, see `pip check`. Installing `{module}` only moves the failure to the "
        "next optional package.",
    ),
    zh=Words(
        "TRL 导入了没有安装的可选包 `{module}`",
        "TRL 0.28 及之前用 Transformers 的一个私有函数判断可选包是否存在;Transformers 5 对它返回二元组,总被"
        "当作真。于是 TRL 认为所有可选包都已安装,其训练器无法导入。",
        '升级 TRL:`pip install -U "trl>=0.29"`,或使用同时期的 Transformers:`pip install "transformers<5"`。'
        "若 TRL 不能动(ms-swift、Unsloth 限定了范围),安装该版本要求的 Transformers,见 `pip check`。安装"
        " `{module}` 只会让错误移到下一个可选包。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A bare sentence counts only below TRL's own words, which say that it was TRL's import."""
    module = next((hit.groups["module"] for hit in hits.of(0)), "")
    if not module and hits.of(1):
        below = {hit.line + 1 for hit in hits.of(1)}
        module = next((hit.groups["module"] for hit in hits.of(2) if hit.line in below), "")
    if not module:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module)
