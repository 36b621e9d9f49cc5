"""Judges LCH0284/trinity_algorithm, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


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
