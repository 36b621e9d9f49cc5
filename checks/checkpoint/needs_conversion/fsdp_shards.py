"""Judges CKP9009/fsdp_shards, a row of needs-conversion; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.facts.checkpoints import SHARDED_STATE, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sharded_state_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, SHARDED_STATE):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(
                f"accelerate merge-weights {quoted(each.folder, 'pytorch_model_fsdp_0')} {merged(each)}",
                f"cp {quoted(each.folder)}/*.json {merged(each)}/",
            ),
            evidence=evidence(each, "pytorch_model_fsdp_0/__0_0.distcp", more),
            folder=shown(each.folder),
            count=each.files,
        )
