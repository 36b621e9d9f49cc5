"""Judges transformers-cache-ignored (HUB006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "TRANSFORMERS_CACHE"


@check(PROBLEM)
def transformers_cache_ignored(
    environment: Environment, hub: Hub, packages: Packages, training: Training | None
) -> Judgement:
    """Silent where the other variables lead to the same folder."""
    value = value_of(environment, training, VARIABLE)
    cache = value_of(environment, training, "HF_HUB_CACHE") or hub.cache_dir
    if not value or cache is None or cache.rstrip("/") == value.rstrip("/"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("transformers"),
        cache=cache,
        where=where_set(training, VARIABLE),
        commands=(f"export HF_HUB_CACHE={value}",),
        evidence=shown(VARIABLE, value),
    )
