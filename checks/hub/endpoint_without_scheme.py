"""Judges endpoint-without-scheme (HUB007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.shared.named_models import missing_repository
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "HF_ENDPOINT"


@check(PROBLEM)
def endpoint_without_scheme(
    environment: Environment,
    hub: Hub,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Certain where the model must be downloaded."""
    value = value_of(environment, training, VARIABLE)
    if not value or value.lower().startswith(("http://", "https://")) or hub.offline:
        return
    sure = missing_repository(model, training, serving, verl_config, trinity_config) is not None
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}=https://{value.lstrip('/')}",),
        evidence=shown(VARIABLE, value),
    )
