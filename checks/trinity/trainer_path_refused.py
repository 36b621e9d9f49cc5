"""`trainer_config_path` is set, and Trinity-RFT no longer reads it.

## What it means
Up to 0.3.1 veRL's own settings could stand in a file that `trainer.trainer_config_path` names. From 0.3.2
on they stand under `trainer.trainer_config`, and the path alone is refused.
## What it does to a run
`ValueError: trainer_config_path is deprecated; please use trainer_config instead` at the start.
## What to do
Move the content of that file under `trainer.trainer_config`.
## How it is found
The file that the command names and the installed release.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.5.2/trinity/common/config_validator.py
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

PROBLEM = Problem(
    id="TRI002",
    name="trinity-config-path-refused",
    severity=ERROR,
    since="0.1",
    affects={"trinity-rft": ">=0.3.2,<0.6"},
)

MESSAGE = Message(
    en=Words(
        "`trainer.trainer_config_path` is set, and Trinity-RFT {version} refuses it",
        "The path alone ends the run at the start with `trainer_config_path is deprecated`.",
        "Put the settings of that file under `trainer.trainer_config`.",
    ),
    zh=Words(
        "设置了 `trainer.trainer_config_path`,而 Trinity-RFT {version} 会拒绝它",
        "只给出路径时,运行一开始就会以 `trainer_config_path is deprecated` 退出。",
        "把该文件的设置移到 `trainer.trainer_config` 下。",
    ),
)


TRAINS = {"train", "both", "colocate"}


@check(PROBLEM)
def trainer_path_refused(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Beside settings of the trainer the path is another problem; other modes do not read it."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    setting = trinity.setting("trainer.trainer_config_path")
    both = any(key.startswith("trainer.trainer_config.") for key in trinity.config.settings)
    if setting is None or not setting.value or both or trinity.value("mode") not in TRAINS:
        return
    if trinity.value("trainer.trainer_type") != "verl":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=trinity.version,
        where=place_of(setting),
        commands=("trainer_config:",),
        evidence=(proof(setting),),
    )
