"""Rows of training-settings-unfit that are judged before launch; shared: whose arguments are judged, and how surely."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence
from doctor.catalogue.settings import number
from doctor.facts.training import Training


def written(training: Training, name: str) -> Observed | None:
    """A setting that the constructor checks and whose value is known; attributes set later are never checked."""
    setting = training.get(name)
    if setting is None or not setting.known or name in training.set_later | training.shared:
        return None
    return setting


def certainty(training: Training) -> Confidence:
    """Confirmed where the classes of Transformers or TRL check the arguments themselves."""
    origin = training.config_origin
    return CONFIRMED if not origin or origin.startswith(("trl.", "transformers.")) else LIKELY


def by_steps(training: Training, kind: str) -> bool:
    """Whether evaluation, logging or saving goes by steps; logging and saving do so by default.

    https://github.com/huggingface/transformers/blob/v4.52.1/src/transformers/training_args.py
    """
    setting = training.get("eval_strategy" if kind == "eval" else f"{kind}_strategy")
    if setting is None and kind == "eval":
        setting = training.get("evaluation_strategy")
    if setting is None:
        return kind != "eval" and training.complete
    return setting.known and str(setting.value).rpartition(".")[2].lower() == "steps"


def is_zero(setting: Observed | None) -> bool:
    """Whether a number is written and is 0."""
    return setting is not None and number(setting.value) == 0
