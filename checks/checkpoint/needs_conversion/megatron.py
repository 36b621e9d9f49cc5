"""Judges CKP9009/megatron, a row of needs-conversion; its words stand in the TOML of the table."""

from __future__ import annotations

from pathlib import PurePath

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.facts.checkpoints import MEGATRON, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def megatron_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, MEGATRON):
        merge = (
            f"python -m verl.model_merger merge --backend megatron --local_dir {quoted(each.folder)} "
            f"--target_dir {merged(each)}"
        )
        convert = f"trinity convert --checkpoint-dir {quoted(str(PurePath(each.folder).parent))}"
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(convert if each.trinity else merge,),
            evidence=evidence(each, "dist_ckpt/__0_0.distcp", more),
            folder=shown(each.folder),
        )
