"""Collects the fact `checkpoints`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.fact import DoesNotApply, fact
from doctor.facts.checkpoints import WEIGHTS, Checkpoints
from doctor.facts.model import Model


@fact(about="command")
def collect(model: Model | None) -> Checkpoints:
    """Look whether the folder that the command names as its model holds pieces instead of weights.

    Raises:
        DoesNotApply: no model's folder is known.

    """
    from doctor.readers.files import checkpoint_files

    if model is None or not model.here:
        raise DoesNotApply("the command names no model's folder on this machine")
    found = checkpoint_files.read(Path(model.folder))
    # the fact `model` tells of everything that is wrong with ordinary weights
    return Checkpoints(tuple(each for each in found if each.kind != WEIGHTS), model.name)
