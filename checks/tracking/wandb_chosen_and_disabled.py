"""Judges wandb-chosen-and-disabled (TRK004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.shared.named_models import means_yes
from doctor.catalogue.shared.trackers import chosen, place, quoted
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "WANDB_DISABLED"


@check(PROBLEM)
def wandb_chosen_and_disabled(environment: Environment, training: Training) -> Judgement:
    """Judge what was chosen by name; "all" leaves a disabled wandb out."""
    value = value_of(environment, training, VARIABLE)
    if not means_yes(value) or "wandb" not in chosen(training):
        return
    setting = training.get("report_to")
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        where=place(setting) or where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=(*quoted(setting), *shown(VARIABLE, value or "")),
    )
