"""Judges PYT3270/hf_transfer, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.shared.named_models import means_yes, missing_repository
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "HF_HUB_ENABLE_HF_TRANSFER"


@check(PROBLEM)
def hf_transfer_missing(
    environment: Environment,
    hub: Hub,
    packages: Packages,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Certain where the model must be downloaded; a data set or a tokenizer may have to be."""
    value = value_of(environment, training, VARIABLE)
    if not means_yes(value) or hub.offline or (there := packages.has("hf-transfer")):
        return
    if there is None:
        yield Skip(packages.why_unknown("hf_transfer"))
        return
    sure = missing_repository(model, training, serving, verl_config, trinity_config) is not None
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=("pip install hf_transfer", f"unset {VARIABLE}"),
        evidence=shown(VARIABLE, value or ""),
    )
