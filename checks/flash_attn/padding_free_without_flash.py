"""Judges padding-free-without-flash (FLA006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.opened import NotSeen
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_attention import asked_attention, flash_version, is_kernel
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


DEFAULT = "the default of the model, sdpa or eager"


def _joins(training: Training, packages: Packages) -> Observed | None:
    """Return the setting that joins samples, None when none certainly does."""
    free = training.get("padding_free")
    if free is not None and free.known and truth(free.value):
        return free
    packing = training.get("packing")
    if packing is None or not packing.known or not truth(packing.value):
        return None
    strategy = effective_value(training, packages, "packing_strategy")
    joins = packages.matches("trl", ">=0.19") and strategy is not None and strategy.value in {"bfd", "ffd"}
    return packing if joins else None


def _has_flash(packages: Packages) -> bool:
    """Whether flash-attn is known to be there, which only decides what is advised."""
    try:
        return packages.version("flash-attn") is not None
    except NotSeen:
        return False


@check(PROBLEM)
def padding_free_without_flash(training: Training, packages: Packages) -> Judgement:
    """An attention that is set by means that cannot be read is given the benefit of the doubt."""
    if training.config_class != "SFTConfig" and training.trainer != "SFTTrainer":
        return
    joining = _joins(training, packages)
    written = training.model_arguments.get("attn_implementation") or training.nested.get(
        "model_init_kwargs.attn_implementation"
    )
    attention = asked_attention(training)
    if joining is None or (attention is None and (written is not None or not training.complete)):
        return
    if attention is not None and (flash_version(attention.value) or is_kernel(attention.value)):
        return
    flash = ('attn_implementation="flash_attention_2"',) if _has_flash(packages) else ()
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY,
        where=place_of(joining, attention),
        evidence=quoted(joining, attention),
        commands=(*flash, "padding_free=False, packing=False"),
        name=joining.name,
        attention=attention.value if attention is not None else DEFAULT,
    )
