"""Trinity-RFT has no such mode.

## What it means
`mode` says what the command starts: `explore`, `train`, `both` or `bench`; `serve` came in 0.3.1,
`colocate` (one GPU) in 0.5.0.
## What it does to a run
`ValueError: Invalid mode` at the start.
## What to do
Write one of the modes of the installed release.
## How it is found
The file and the installed release.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/common/config_validator.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.checks.trinity._helpers import Trinity, trinity_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI006", name="trinity-mode-unknown", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "Trinity-RFT {version} has no mode `{mode}`",
        "The check of the configuration ends with `Invalid mode: {mode}`. It has {modes}.",
        "Write one of these modes.",
    ),
    zh=Words(
        "Trinity-RFT {version} 没有模式 `{mode}`",
        "配置检查会以 `Invalid mode: {mode}` 退出。可用的有 {modes}。",
        "改为其中之一。",
    ),
)


#: mode -> first release that has it (trinity/common/config.py and config_validator.py of each release)
MODES = {"explore": "0.1", "train": "0.1", "both": "0.1", "bench": "0.1", "serve": "0.3.1", "colocate": "0.5"}


@check(PROBLEM)
def mode_unknown(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Compare the written mode."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    setting = trinity.setting("mode")
    modes = [mode for mode, first in MODES.items() if packages.matches("trinity-rft", f">={first}")]
    if setting is None or not setting.known or setting.value in modes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=trinity.version,
        mode=setting.value,
        modes=", ".join(f"`{mode}`" for mode in modes),
        where=place_of(setting),
        commands=("mode: both",),
        evidence=(proof(setting),),
    )
