"""`from trl import GRPOTrainer` fails beside vLLM 0.12 or newer.

## What it means
TRL 0.18 to 0.26 import `GuidedDecodingParams` from vLLM as soon as vLLM is installed, used or not. vLLM
0.12.0 removed that class.
## What it does to a run
`from trl import GRPOTrainer` raises "cannot import name 'GuidedDecodingParams'", also with
`use_vllm=False`.
## What to do
Install versions of the two that fit together.
## How it is found
The installed versions of TRL and vLLM, and what the command imports; the removed name was looked for in the
released packages of both.
In a log: by the import that fails.
## References
https://github.com/huggingface/trl/blob/v0.26.2/trl/trainer/grpo_trainer.py#L99-L101
https://github.com/vllm-project/vllm/releases/tag/v0.12.0
"""

from __future__ import annotations

from doctor.checks.trl._helpers import imports_grpo, installed
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL026",
    name="guided-decoding-import",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.18,<0.27", "vllm": ">=0.12"},
)

SIGNATURES = (Signature(r"cannot import name 'GuidedDecodingParams' from 'vllm\."),)

LOG_MESSAGE = Message(
    en=Words(
        "TRL cannot be imported: vLLM no longer has `GuidedDecodingParams`",
        "TRL takes the name from vLLM at import time whenever vLLM is installed, and vLLM 0.12.0 removed "
        "it. The import fails even with `use_vllm=False`.",
        "Install TRL 0.27.0 or newer, or vLLM 0.11.2 or older, or remove vLLM where `use_vllm` is not used.",
    ),
    zh=Words(
        "无法导入 TRL:vLLM 已没有 `GuidedDecodingParams`",
        "只要安装了 vLLM,TRL 就会在导入时取用它,而 vLLM 0.12.0 已将其移除。即使 `use_vllm=False`,导入也会失败。",
        "安装 TRL 0.27.0 或更新版本,或 vLLM 0.11.2 及更旧版本;不用 `use_vllm` 时也可卸载 vLLM。",
    ),
)

LOG_COMMANDS = ("pip install -U 'trl>=0.27.0'",)

MESSAGE = Message(
    en=Words(
        "TRL {version} cannot import its GRPO trainer beside vLLM {vllm}",
        "TRL takes `GuidedDecodingParams` from vLLM at import time whenever vLLM is installed, and vLLM "
        "removed it in 0.12.0. The import fails even with `use_vllm=False`.",
        "Install a newer TRL or an older vLLM, or remove vLLM if it is not used.",
    ),
    zh=Words(
        "在 vLLM {vllm} 旁边,TRL {version} 无法导入其 GRPO 训练器",
        "只要安装了 vLLM,TRL 就会在导入时取用 `GuidedDecodingParams`,而 vLLM 在 0.12.0 中移除了它。即使 "
        "`use_vllm=False`,导入也会失败。",
        "安装更新的 TRL 或更旧的 vLLM;如果不用 vLLM,也可将其卸载。",
    ),
)


@check(PROBLEM)
def guided_decoding_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without; the engine has compared the versions."""
    imported = imports_grpo(launch, training, script)
    if imported is False or _swift_mends(packages, launch):
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Evidence("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=('pip install "vllm<0.12"', 'pip install "trl>=0.27"'),
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        version=version,
        vllm=vllm,
    )


def _swift_mends(packages: Packages, launch: Launch | None) -> bool:
    """Whether ms-swift, which puts the name back before it imports TRL, is what runs here.

    https://github.com/modelscope/ms-swift/blob/main/swift/rlhf_trainers/grpo_trainer.py
    """
    return "ms-swift" in packages.distributions and (launch is None or launch.program in {"swift", "megatron"})
