"""Judges learning-rate-unusual (RLX001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
FULL = TOML["full"]
LORA = TOML["lora"]


#: OpenRLHF's examples, and Open-R1's recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml
FULL_RANGE = (5e-7, 2e-5)

#: the smallest and the greatest rate of TRL's guide "LoRA without regret"
LORA_RANGE = (1e-6, 5e-5)

#: TRL's default, and ten times that for LoRA as its guide has it; a hundred times as much is no choice of a method
FULL_USUAL, LORA_USUAL = 1e-6, 1e-5
FAR = 100

#: packages that put adapters on a model
ADAPTERS = {"peft", "unsloth"}


@check(PROBLEM)
def learning_rate_unusual(training: Training, script: Script | None) -> Judgement:
    """Judge an explicit rate by method; an adapter can come from elsewhere than `LoraConfig`."""
    setting = training.get("learning_rate")
    if not is_grpo(training) or setting is None:
        return
    rate = number(setting.value) if setting.known else None
    if rate is None:
        yield Skip("`learning_rate` could not be read without running the script")
        return
    brings_adapter = script is not None and any(each.split(".")[0] in ADAPTERS for each in script.imports)
    adapter = training.lora is not None or brings_adapter
    low, high = LORA_RANGE if adapter else FULL_RANGE
    if not low <= rate <= high:
        yield found(
            PROBLEM,
            LORA if adapter else FULL,
            where=place_of(setting),
            evidence=quoted(setting),
            severity=WARNING if rate >= FAR * (LORA_USUAL if adapter else FULL_USUAL) else INFO,
            rate=f"{rate:g}",
        )
