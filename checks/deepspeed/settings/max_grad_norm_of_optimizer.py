"""Judges deepspeed-max-grad-norm-of-optimizer (DSP014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def max_grad_norm_of_optimizer(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """One key."""
    if deepspeed is None:
        yield from unread(training)
        return
    setting = setting_of(deepspeed, "optimizer.params.max_grad_norm")
    if setting is not None and setting_of(deepspeed, "optimizer.type") is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            value=setting.value,
            where=place_of(setting),
            commands=(f'"gradient_clipping": {setting.value}',),
            evidence=(proof(setting),),
        )
