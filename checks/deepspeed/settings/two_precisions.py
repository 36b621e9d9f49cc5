"""Judges deepspeed-two-precisions (DSP006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import effective, proofs, written
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import compares_arguments, setting_of, unread
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
BOTH = TOML["both"]
OTHER = TOML["other"]


@check(PROBLEM)
def two_precisions(
    deepspeed: DeepspeedConfig | None, training: Training | None, packages: Packages | None
) -> Judgement:
    """The JSON alone first, then against the training."""
    if deepspeed is None:
        yield from unread(training)
        return
    fp16, bf16 = (setting_of(deepspeed, f"{name}.enabled") for name in ("fp16", "bf16"))
    ours = [each for each in (fp16, bf16) if each is not None and truth(each.value)]
    if len(ours) == 2:
        yield found(PROBLEM, BOTH, where=place_of(*ours), evidence=proofs(*ours))
        return
    if not ours or training is None or not compares_arguments(training, packages):
        return
    name = ours[0].name.partition(".")[0]
    other = "bf16" if name == "fp16" else "fp16"
    wanted = effective(training, packages, other)
    if wanted is not None and truth(wanted.value):
        yield found(
            PROBLEM,
            OTHER,
            ours=name,
            theirs=other,
            place=written(wanted),
            where=place_of(ours[0], wanted),
            evidence=proofs(ours[0], wanted),
        )
