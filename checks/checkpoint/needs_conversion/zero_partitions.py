"""Judges CKP9009/zero_partitions, a row of needs-conversion; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.facts.checkpoints import ZERO, Checkpoint, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def zero_partitions_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, ZERO):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(_convert(each), f"cp {quoted(each.folder)}/*.json {merged(each)}/"),
            evidence=evidence(each, f"{each.tag}/zero_pp_rank_0_mp_rank_00_optim_states.pt", more),
            folder=shown(each.folder),
            count=each.files,
        )


def _convert(each: Checkpoint) -> str:
    """The script's own command; before DeepSpeed 0.15.3 it writes one file and cannot write safetensors."""
    tag = "" if each.is_latest else f" -t {quoted(each.tag or '')}"
    program = quoted(each.folder, "zero_to_fp32.py") if each.converter else "-m deepspeed.utils.zero_to_fp32"
    convert = f"python {program} {quoted(each.folder)} {merged(each)}"
    if each.converter == "output_file":
        return f"mkdir -p {merged(each)} && {convert}/pytorch_model.bin{tag}"
    return convert + ("" if each.converter and not each.safe else " --safe_serialization") + tag
