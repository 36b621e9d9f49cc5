"""`trl vllm-serve` fails beside vLLM 0.14 or newer.

## What it means
The server of TRL 0.17 to 0.27 imports `get_open_port` from `vllm.utils`; vLLM moved it to
`vllm.utils.network_utils` and removed the old place in 0.14.0.
## What it does to a run
`trl vllm-serve` ends at once with an ImportError, and the trainer waits for a server that never answers.
## What to do
Install versions of the two that fit together.
## How it is found
The installed versions of TRL and vLLM; the removed name was looked for in the released packages of both.
In a log: by the import that fails.
## References
https://github.com/huggingface/trl/blob/v0.27.2/trl/scripts/vllm_serve.py
https://github.com/vllm-project/vllm/releases/tag/v0.14.0
"""

from __future__ import annotations

from doctor.checks.trl._helpers import COMMAND_LINE, installed
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="TRL027",
    name="vllm-serve-open-port-import",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.17,<0.28", "vllm": ">=0.14"},
)

SIGNATURES = (Signature(r"cannot import name 'get_open_port' from 'vllm\.utils'", frame=r"/trl/"),)

LOG_MESSAGE = Message(
    en=Words(
        "`trl vllm-serve` cannot start: vLLM moved `get_open_port`",
        "TRL's server script takes the name from `vllm.utils`; from vLLM 0.14.0 on it lives in "
        "`vllm.utils.network_utils` only.",
        "Install TRL 0.28.0 or newer, or vLLM 0.13 or older.",
    ),
    zh=Words(
        "`trl vllm-serve` 无法启动:vLLM 移动了 `get_open_port`",
        "TRL 的服务器脚本从 `vllm.utils` 取用它;自 vLLM 0.14.0 起它只在 `vllm.utils.network_utils` 中。",
        "安装 TRL 0.28.0 或更新版本,或 vLLM 0.13 及更旧版本。",
    ),
)

LOG_COMMANDS = ("pip install -U 'trl>=0.28.0'",)

MESSAGE = Message(
    en=Words(
        "`trl vllm-serve` of TRL {version} cannot start beside vLLM {vllm}",
        "It imports `get_open_port` from `vllm.utils`, which vLLM no longer has from 0.14.0, and ends with "
        "an ImportError.",
        "Install a newer TRL, or a vLLM that this TRL was made for.",
    ),
    zh=Words(
        "在 vLLM {vllm} 旁边,TRL {version} 的 `trl vllm-serve` 无法启动",
        "它从 `vllm.utils` 导入 `get_open_port`,而 vLLM 自 0.14.0 起不再提供,因此以 ImportError 结束。",
        "安装更新的 TRL,或该 TRL 所支持的 vLLM。",
    ),
)


@check(PROBLEM)
def serve_open_port_import(launch: Launch, packages: Packages) -> Judgement:
    """Judge the command; the engine has compared the versions."""
    if launch.kind != "trl-vllm-serve":
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Evidence(COMMAND_LINE, " ".join(launch.argv)),),
        commands=('pip install "trl>=0.28"', 'pip install "vllm<0.12"'),
        version=version,
        vllm=vllm,
    )
