"""Fast downloads are switched on and their package is missing.

## What it means
HF_HUB_ENABLE_HF_TRANSFER=1 makes huggingface_hub before 1.0 download through the package `hf_transfer`, which is not
installed. From 1.0 on the variable is ignored.
## What it does to a run
The first download ends with `ValueError: Fast download using 'hf_transfer' is enabled ... but 'hf_transfer' package
is not available`.
## What to do
Install `hf_transfer`, or unset the variable.
## How it is found
The variable as the run will have it, and the installed packages.
In a log: by the exception of huggingface_hub or Transformers.
## References
https://github.com/huggingface/huggingface_hub/blob/v0.36.0/src/huggingface_hub/file_download.py
https://huggingface.co/docs/huggingface_hub/v0.36.0/package_reference/environment_variables
"""

from __future__ import annotations

from doctor.checks.hub._helpers import is_repository, means_yes, named_model
from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="HUB004", name="hf-transfer-missing", severity=ERROR, since="0.1", affects={"huggingface-hub": ">=0.20,<1.0"}
)

SIGNATURES = (Signature(r"ValueError: Fast download using 'hf_transfer' is enabled"),)

LOG_MESSAGE = Message(
    en=Words(
        "`HF_HUB_ENABLE_HF_TRANSFER` is set, and the package `hf_transfer` is not installed",
        "The variable, often set in a container image, makes the first download fail where the package is missing.",
        "Run `pip install hf_transfer` with the interpreter of the run, or `unset "
        "HF_HUB_ENABLE_HF_TRANSFER` (huggingface_hub 1.0 and newer ignore it).",
    ),
    zh=Words(
        "设置了 `HF_HUB_ENABLE_HF_TRANSFER`,但未安装 `hf_transfer` 包",
        "该变量常在容器镜像中设置;缺少该包时,首次下载就会失败。",
        "用运行所用的解释器 `pip install hf_transfer`,或 `unset "
        "HF_HUB_ENABLE_HF_TRANSFER`(huggingface_hub 1.0 及以上会忽略它)。",
    ),
)
VARIABLE = "HF_HUB_ENABLE_HF_TRANSFER"

MESSAGE = Message(
    en=Words(
        "`HF_HUB_ENABLE_HF_TRANSFER={value}`, and `hf_transfer` is not installed",
        "The first download ends with `ValueError: Fast download using 'hf_transfer' is enabled`.",
        "Install hf_transfer, or unset the variable.",
    ),
    zh=Words(
        "设置了 `HF_HUB_ENABLE_HF_TRANSFER={value}`,但没有安装 `hf_transfer`",
        "第一次下载会以 `ValueError: Fast download using 'hf_transfer' is enabled` 失败。",
        "安装 hf_transfer,或取消该变量。",
    ),
)


@check(PROBLEM)
def hf_transfer_missing(
    environment: Environment,
    hub: Hub,
    packages: Packages,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Certain where the model must be downloaded; a data set or a tokenizer may have to be."""
    value = value_of(environment, training, VARIABLE)
    if not means_yes(value) or hub.offline or "hf-transfer" in packages.distributions:
        return
    if not packages.complete:
        yield Skip("whether `hf_transfer` is installed is not in the list of packages")
        return
    named = named_model(training, serving, verl_config, trinity_config)
    sure = model is None and named is not None and is_repository(str(named.value))
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=("pip install hf_transfer", f"unset {VARIABLE}"),
        evidence=shown(VARIABLE, value or ""),
    )
