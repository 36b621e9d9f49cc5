"""`vllm_mode` is set in a TRL that has no such argument.

## What it means
Running vLLM inside the training processes (`vllm_mode="colocate"`) and the choice between that and a server
came with TRL 0.18.0. TRL 0.14 and 0.15 start vLLM on a GPU of its own (`vllm_device`), 0.16 and 0.17 know
only a server.
## What it does to a run
`GRPOConfig` raises a TypeError about an unexpected keyword argument `vllm_mode`. Nothing is trained.
## What to do
Install TRL 0.18.0 or newer.
## How it is found
`vllm_mode` or `vllm_tensor_parallel_size` is set and the installed TRL is older than 0.18.
In a log: by the exception of `GRPOConfig`.
## References
https://github.com/huggingface/trl/pull/3394
https://github.com/huggingface/trl/releases/tag/v0.18.0
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL011", name="vllm-colocate-absent", severity=ERROR, since="0.1", affects={"trl": ">=0.14,<0.18"}
)

SIGNATURES = (Signature(r"TypeError: (?:GRPOConfig\.)?__init__\(\) got an unexpected keyword argument 'vllm_mode'"),)

LOG_MESSAGE = Message(
    en=Words(
        "`vllm_mode` was passed to a `GRPOConfig` that is older than it",
        "`vllm_mode` came with TRL 0.18.0. Before, vLLM could not share the GPUs of the training: 0.16 "
        "and 0.17 know only a separate server, 0.14 and 0.15 a GPU of its own.",
        "Install TRL 0.18.0 or newer, or take `vllm_mode` out and start `trl vllm-serve` on other GPUs.",
    ),
    zh=Words(
        "向比 `vllm_mode` 更旧的 `GRPOConfig` 传入了该参数",
        "`vllm_mode` 自 TRL 0.18.0 起才有。此前 vLLM 不能与训练共用 GPU:0.16 和 0.17 只支持单独的服务器"
        ",0.14 和 0.15 需要独占一张 GPU。",
        "安装 TRL 0.18.0 或更新版本;或删除 `vllm_mode`,并在其他 GPU 上启动 `trl vllm-serve`。",
    ),
)

LOG_COMMANDS = ("pip install -U 'trl>=0.18.0'",)

MESSAGE = Message(
    en=Words(
        "`{name}` came with TRL 0.18.0; {version} is installed",
        "`GRPOConfig` raises a TypeError about it. Before 0.18 vLLM could not share the GPUs of the training.",
        "Install TRL 0.18.0 or newer.",
    ),
    zh=Words(
        "`{name}` 自 TRL 0.18.0 起才有;当前安装的是 {version}",
        "`GRPOConfig` 会为此抛出 TypeError。0.18 之前 vLLM 不能与训练共用 GPU。",
        "安装 TRL 0.18.0 或更新版本。",
    ),
)


@check(PROBLEM)
def colocate_absent(training: Training, packages: Packages) -> Judgement:
    """Judge the first of the arguments that is set."""
    if not is_grpo(training):
        return
    for name in ("vllm_mode", "vllm_tensor_parallel_size"):
        setting = training.get(name)
        if setting is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=quoted(setting),
                commands=('pip install "trl>=0.18"',),
                name=name,
                version=installed(packages, "trl"),
            )
            return
