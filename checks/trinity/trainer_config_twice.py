"""`trainer_config` and `trainer_config_path` are both given.

## What it means
veRL's settings stand under `trainer.trainer_config`, and `trainer.trainer_config_path` names a file of them
as well. Trinity-RFT takes the first and does not open the second.
## What it does to a run
Nothing fails: the settings of the file have no effect.
## What to do
Keep one of the two, `trainer_config` with newer releases.
## How it is found
Both keys of the file.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.3.1/trinity/common/config.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI003", name="trinity-config-given-twice", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`trainer_config` and `trainer_config_path` are both set, and the path is not read",
        "Trinity-RFT takes the settings under `trainer.trainer_config`; those of the file have no effect, "
        "without a word.",
        "Keep `trainer_config`, with everything in it that is to hold.",
    ),
    zh=Words(
        "同时设置了 `trainer_config` 和 `trainer_config_path`,后者不会被读取",
        "Trinity-RFT 只采用 `trainer.trainer_config` 下的设置;该文件中的设置不起作用,也没有任何提示。",
        "保留 `trainer_config`,并把需要生效的设置都写在其中。",
    ),
)


@check(PROBLEM)
def trainer_config_twice(trinity_config: TrinityConfig) -> Judgement:
    """An empty `trainer_config` counts as none."""
    path = trinity_config.settings.get("trainer.trainer_config_path")
    inside = next((v for k, v in trinity_config.settings.items() if k.startswith("trainer.trainer_config.")), None)
    if path is None or not path.value or inside is None:
        return
    yield found(PROBLEM, MESSAGE, where=place_of(path), evidence=(proof(path), proof(inside)))
