"""TRL will warn about a vLLM version that it supports.

## What it means
TRL 0.24 to 1.8 compare vLLM's version with its local part, so `0.17.1+cu129` counts as newer than the upper
bound 0.17.1.
## What it does to a run
A warning about an unsupported vLLM appears at import. It is wrong, and nothing else follows from it.
## What to do
Leave it as it is; TRL 1.9.0 and newer compare without the local part.
## How it is found
The installed vLLM has a local version part and its public version is the upper bound of the installed TRL.
## References
https://github.com/huggingface/trl/blob/v1.8.0/trl/import_utils.py
https://github.com/huggingface/trl/blob/v1.9.0/trl/import_utils.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._helpers import installed
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="TRL030",
    name="vllm-version-warning-false",
    severity=INFO,
    since="0.1",
    ends_run=False,
    affects={"trl": ">=0.24,<1.9", "vllm": ">=0.1"},
)

MESSAGE = Message(
    en=Words(
        "TRL {version} will warn about vLLM {vllm}, wrongly",
        "TRL compares the version with its local part and takes it for newer than {high}. It is the "
        "supported version, built for another CUDA.",
        "Leave it as it is, or install TRL 1.9.0 or newer to be rid of the warning.",
    ),
    zh=Words(
        "TRL {version} 会对 vLLM {vllm} 发出错误的警告",
        "TRL 连同本地版本号一起比较,误认为它比 {high} 更新。它其实是受支持的版本,只是为另一个 CUDA 构建。",
        "可以不予理会;安装 TRL 1.9.0 及以上版本可消除该警告。",
    ),
)


@check(PROBLEM)
def vllm_warning_false(packages: Packages) -> Judgement:
    """Judge only the one version that is compared wrongly."""
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    release = data.trl_release(version)
    if release is None or release.vllm_window is None or release.vllm_window_strips_local or "+" not in vllm:
        return
    high = release.vllm_window[1]
    if packages.matches("vllm", f"=={high}"):
        yield found(
            PROBLEM,
            MESSAGE,
            evidence=(Evidence("installed packages", f"trl {version}, vllm {vllm}"),),
            version=version,
            vllm=vllm,
            high=high,
        )
