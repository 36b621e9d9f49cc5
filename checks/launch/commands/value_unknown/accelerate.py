"""Judges LCH0284/accelerate, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof, unread_config
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


TYPES = (
    "NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU",
    "MULTI_NEURON", "DEEPSPEED", "FSDP", "XLA", "TPU", "MEGATRON_LM",
)  # fmt: skip
PRECISIONS = ("no", "fp8", "fp16", "bf16")
NEWEST_READ = "<=1.15.0"


@check(PROBLEM)
def unknown_choice(launch: Launch, accelerate: AccelerateConfig | None, packages: Packages | None) -> Judgement:
    """A word that a release newer than the one read may know is only likely wrong."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    import difflib

    site = accelerate.settings.get("compute_environment")
    if launch.kind not in {"accelerate", "trl"} or (site and site.value != "LOCAL_MACHINE"):
        return
    sure = CONFIRMED if packages and packages.matches("accelerate", NEWEST_READ) else LIKELY
    for key, choices in (("distributed_type", TYPES), ("mixed_precision", PRECISIONS)):
        setting = accelerate.settings.get(key)
        if setting is None or not isinstance(setting.value, str) or not setting.value:
            continue
        value = setting.value.lower() if key == "mixed_precision" else setting.value
        if value in choices or (key == "mixed_precision" and launch.option(key)):
            continue
        nearest = difflib.get_close_matches(value.replace("float", "fp"), choices, 1, 0.3) or choices[:1]
        yield found(
            PROBLEM,
            MESSAGE,
            key=key,
            value=setting.value,
            choices=", ".join(f"`{choice}`" for choice in choices),
            nearest=nearest[0],
            where=place_of(setting),
            confidence=sure,
            commands=(f"{key}: '{nearest[0]}'",),
            evidence=(proof(setting),),
        )
