"""vLLM 0.9 registers a model type that transformers has by now.

## What it means
vLLM 0.9.0 to 0.9.2 register `aimv2` with transformers. From 4.54.0 on transformers has that type itself and
refuses the second registration. vLLM's own requirement (`transformers>=4.51.1`) does not forbid the pair.
## What it does to a run
`ValueError: 'aimv2' is already used by a Transformers config, pick another name` as soon as vLLM is used.
## What to do
Install transformers older than 4.54, or vLLM 0.10.0 or newer.
## How it is found
The installed versions, and what the command imports.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/transformers_utils/configs/ovis.py
https://github.com/huggingface/transformers/blob/v4.54.0/src/transformers/models/auto/configuration_auto.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import imports_vllm
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(
    id="VLL019",
    name="transformers-has-aimv2",
    severity=ERROR,
    since="0.1",
    affects={"vllm": ">=0.9,<0.10", "transformers": ">=4.54"},
)

SIGNATURES = (Signature(r"'aimv2' is already used by a Transformers config"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM 0.9 registers the model type `aimv2`, which the installed transformers has by now",
        "transformers 4.54.0 brought its own `aimv2`; vLLM 0.9.0 to 0.9.2 registers one at import and is "
        "refused. Nothing that uses vLLM can start.",
        "Install vLLM 0.10.0 or newer, or stay below transformers 4.54: `pip install 'transformers<4.54'`.",
    ),
    zh=Words(
        "vLLM 0.9 注册模型类型 `aimv2`,而已安装的 transformers 已自带该类型",
        "transformers 4.54.0 加入了自己的 `aimv2`;vLLM 0.9.0 至 0.9.2 在导入时注册同名类型而被拒绝。使用 "
        "vLLM 的一切都无法启动。",
        "安装 vLLM 0.10.0 及以上版本,或使用低于 4.54 的 transformers:`pip install 'transformers<4.54'`。",
    ),
)

LOG_COMMANDS = ("pip install 'transformers<4.54'",)

MESSAGE = Message(
    en=Words(
        "vLLM {vllm} cannot be used with transformers {transformers}: both define `aimv2`",
        "vLLM ends with `'aimv2' is already used by a Transformers config`. Nothing in the packages' "
        "requirements forbids the pair.",
        "Install transformers older than 4.54, or vLLM 0.10.0 or newer.",
    ),
    zh=Words(
        "vLLM {vllm} 不能与 transformers {transformers} 一起使用:两者都定义了 `aimv2`",
        "vLLM 会以 `'aimv2' is already used by a Transformers config` 退出。两者的依赖声明都没有禁止这种组合。",
        "安装低于 4.54 的 transformers,或 vLLM 0.10.0 及以上版本。",
    ),
)


@check(PROBLEM)
def transformers_has_aimv2(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """The engine has compared both versions; a command that does without vLLM is left alone."""
    imported = imports_vllm(launch, training, script)
    if imported is False:
        return
    vllm, transformers = packages.version("vllm"), packages.version("transformers")
    yield found(
        PROBLEM,
        MESSAGE,
        vllm=vllm,
        transformers=transformers,
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        commands=("pip install 'transformers>=4.51.1,<4.54'",),
        evidence=(Evidence("installed packages", f"vllm {vllm}, transformers {transformers}"),),
    )
