"""Judges verl-grpo-of-one (VRL012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.shared.verl_settings import ENTRY, ROLLOUT, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


ESTIMATOR = "algorithm.adv_estimator"
#: on-policy distillation learns from the teacher's probabilities of one answer; veRL's own examples sample one
#: (https://github.com/verl-project/verl/tree/main/examples/on_policy_distillation_trainer)
DISTILLATION = "distillation.enabled"


@check(PROBLEM)
def grpo_of_one(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Rollouts of several turns or tools do not change the number of answers."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from _written(verl_config) or verl
        return
    if verl.value(ESTIMATOR) != "grpo" or verl.number(ROLLOUT + "n") != 1:
        return
    if verl.is_on("trainer.val_only") is True:
        return  # a run that only evaluates learns nothing from its answers
    if DISTILLATION in verl.keys and verl.is_on(DISTILLATION) is not False:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(*place_settings(verl, ROLLOUT + "n", ESTIMATOR)),
        commands=(f"{ROLLOUT}n=8",),
        evidence=verl.quoted(ESTIMATOR, ROLLOUT + "n"),
    )


def _written(config: VerlConfig) -> list[Finding]:
    """What the user's own settings say, where no release tells the rest."""
    estimator, answers = config.get(ESTIMATOR), config.get(ROLLOUT + "n")
    if config.entry != ENTRY or estimator is None or answers is None:
        return []
    others = any(name.startswith(("distillation.", "trainer.val_only")) for name in (*config.overrides, *config.base))
    if others or estimator.value != "grpo" or whole(answers.value) != 1:
        return []
    return [
        found(
            PROBLEM, MESSAGE, confidence=LIKELY, where=place_of(answers, estimator), commands=(f"{ROLLOUT}n=8",),
            evidence=(proof(estimator), proof(answers)),
        )
    ]  # fmt: skip
