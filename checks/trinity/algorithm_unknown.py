"""Trinity-RFT knows no such algorithm.

## What it means
`algorithm.algorithm_type` names a registered algorithm. Releases add new ones; plugins may register their
own.
## What it does to a run
The run ends at the start, when the algorithm is looked up.
## What to do
Write the name as Trinity-RFT spells it.
## How it is found
The name against all algorithms that a release up to 0.6.0 has. With `--plugin-dir` nothing is said.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/algorithm/__init__.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI007", name="trinity-algorithm-unknown", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`algorithm_type: {name}` is no algorithm of Trinity-RFT",
        "The algorithm is looked up by name at the start, and the run ends there.",
        "Write one of {names}.",
    ),
    zh=Words(
        "`algorithm_type: {name}` 不是 Trinity-RFT 的算法",
        "启动时会按名称查找算法,运行在此处退出。",
        "改为以下之一:{names}。",
    ),
)


#: every algorithm that a release from 0.1.0 to 0.6.0 registers
KNOWN = (
    "ppo", "grpo", "sft", "dpo", "opmd", "pairwise_opmd", "mix", "mix_chord", "raft", "asymre", "cispo", "topr", "sppo",
    "rec", "multi_step_grpo", "gspo", "sapo", "rloo", "reinforceplusplus", "on_policy_distill", "jsd", "grpo_verl",
    "dapo", "cpt", "gigpo",
)  # fmt: skip
NEWEST_READ = "<=0.6.0"


@check(PROBLEM)
def algorithm_unknown(trinity_config: TrinityConfig, packages: Packages, launch: Launch) -> Judgement:
    """Names were compared without regard to case in the first releases, so they are here."""
    setting = trinity_config.settings.get("algorithm.algorithm_type")
    if setting is None or not setting.known or not isinstance(setting.value, str) or "plugin_dir" in launch.options:
        return
    if setting.value.lower() in KNOWN:
        return
    if not packages.matches("trinity-rft", NEWEST_READ):
        yield Skip("the algorithms of the installed Trinity-RFT are not in the doctor's data")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        name=setting.value,
        names=", ".join(f"`{each}`" for each in KNOWN[:5]) + " ...",
        where=place_of(setting),
        confidence=LIKELY,
        commands=("algorithm_type: grpo",),
        evidence=(proof(setting),),
    )
