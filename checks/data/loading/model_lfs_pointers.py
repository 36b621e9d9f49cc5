"""Judges model-lfs-pointers (DAT011), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.shared.trainers import listing
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import Checkpoints
from doctor.facts.model import Model

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def model_lfs_pointers(model: Model) -> Judgement:
    """Report them all in one finding."""
    if not model.here:
        yield Skip(f"model `{model.name}` is not on this machine")
        return
    if model.lfs_pointers:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/{model.lfs_pointers[0]}"),
            commands=(f"git -C {shlex.quote(model.folder)} lfs pull",),
            count=len(model.lfs_pointers),
            model=model.name,
            names=listing(model.lfs_pointers[:3]),
        )


@check(PROBLEM)
def checkpoint_lfs_pointers(checkpoints: Checkpoints) -> Judgement:
    """The same in checkpoints that were found by themselves."""
    for each in checkpoints.found:
        if each.pointers:
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=f"{each.folder}/{each.pointers[0]}"),
                commands=(f"git -C {shlex.quote(each.folder)} lfs pull",),
                count=len(each.pointers),
                model=each.folder.rpartition("/")[2],
                names=listing(each.pointers[:3]),
            )
