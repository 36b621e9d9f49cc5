"""Judges CKP9009/rank_shards, a row of needs-conversion; its words stand in the TOML of the table."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.facts.checkpoints import RANK_SHARDS, Checkpoint, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def rank_shards_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, RANK_SHARDS):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=_commands(each),
            evidence=evidence(each, f"model_world_size_{each.world_size}_rank_0.pt", more),
            folder=shown(each.folder),
            count=each.files,
        )


def _commands(each: Checkpoint) -> tuple[str, ...]:
    folder = PurePath(each.folder)
    if each.trinity:
        return (f"trinity convert --checkpoint-dir {quoted(str(folder.parent))}",)
    config = json.dumps({"FSDP_version": 1, "world_size": each.world_size})
    describe = f"echo {shlex.quote(config)} > {quoted(str(folder), 'fsdp_config.json')}"
    merge = f"python -m verl.model_merger merge --backend fsdp --local_dir {quoted(str(folder))} --target_dir "
    return (*(() if each.described else (describe,)), merge + merged(each))
