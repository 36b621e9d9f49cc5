"""`from trl import GRPOTrainer` of TRL 1.11 and 1.12 fails beside vLLM 0.28 or newer.

## What it means
TRL 1.11 and 1.12 import `NCCLTrainerSendWeightsArgs` from vLLM as soon as vLLM is installed, used or not:
the GRPO trainer loads the client of the server mode, and that takes it at module level. vLLM 0.28.0 removed
it. TRL 1.13 does without.
## What it does to a run
`from trl import GRPOTrainer` raises "cannot import name 'NCCLTrainerSendWeightsArgs'", also with
`use_vllm=False`.
## What to do
Install versions of the two that fit together.
## How it is found
The installed versions of TRL and vLLM, and what the command imports; the removed name was looked for in the
released packages of both.
In a log: by the import that fails.
## References
https://github.com/huggingface/trl/blob/v1.11.0/trl/generation/vllm_client.py#L44
https://github.com/huggingface/trl/blob/v1.13.0/trl/generation/vllm_client.py
https://github.com/vllm-project/vllm/pull/50902
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
    id="TRL029",
    name="nccl-send-weights-import",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=1.11,<1.13", "vllm": ">=0.28"},
)

SIGNATURES = (Signature(r"cannot import name 'NCCLTrainerSendWeightsArgs' from 'vllm\."),)

LOG_MESSAGE = Message(
    en=Words(
        "TRL cannot be imported: vLLM no longer has `NCCLTrainerSendWeightsArgs`",
        "TRL 1.11 and 1.12 take the name from vLLM at import time whenever vLLM is installed, and vLLM "
        "0.28.0 removed it. The import fails even with `use_vllm=False`.",
        "Install TRL 1.13.0 or newer, or vLLM before 0.28.",
    ),
    zh=Words(
        "无法导入 TRL:vLLM 已没有 `NCCLTrainerSendWeightsArgs`",
        "只要安装了 vLLM,TRL 1.11 和 1.12 就会在导入时取用它,而 vLLM 0.28.0 已将其移除。即使 "
        "`use_vllm=False`,导入也会失败。",
        "安装 TRL 1.13.0 及以上版本,或 0.28 之前的 vLLM。",
    ),
)

LOG_COMMANDS = ("pip install -U 'trl>=1.13.0'",)

MESSAGE = Message(
    en=Words(
        "TRL {version} cannot import its GRPO trainer beside vLLM {vllm}",
        "TRL takes `NCCLTrainerSendWeightsArgs` from vLLM at import time whenever vLLM is installed, and "
        "vLLM removed it in 0.28.0. The import fails even with `use_vllm=False`.",
        "Install TRL 1.13.0 or newer, or a vLLM before 0.28.",
    ),
    zh=Words(
        "在 vLLM {vllm} 旁边,TRL {version} 无法导入其 GRPO 训练器",
        "只要安装了 vLLM,TRL 就会在导入时取用 `NCCLTrainerSendWeightsArgs`,而 vLLM 在 0.28.0 中移除了它。即"
        "使 `use_vllm=False`,导入也会失败。",
        "安装 TRL 1.13.0 及以上版本,或 0.28 之前的 vLLM。",
    ),
)


@check(PROBLEM)
def send_weights_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without; the engine has compared the versions."""
    imported = imports_grpo(launch, training, script)
    if imported is False:
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Evidence("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=('pip install "trl>=1.13"', 'pip install "vllm<0.28"'),
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        version=version,
        vllm=vllm,
    )
