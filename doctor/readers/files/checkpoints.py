"""Collects the fact `checkpoints`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.fact import Context, DoesNotApply, fact
from doctor.facts.checkpoints import WEIGHTS, Checkpoints
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training


@fact(about="command")
def collect(
    context: Context, launch: Launch | None, training: Training | None, model: Model | None, script: Script | None
) -> Checkpoints:
    """Look whether the folder that the command names as its model holds pieces instead of weights.

    Raises:
        DoesNotApply: no model's folder is known, and none to go on from.

    """
    from doctor.readers.files import checkpoint_files

    cwd = Path(launch.folder) if launch is not None and launch.folder else context.cwd
    resumed = _resumed(training, script, cwd)
    if model is None or not model.here:
        if resumed is None:
            raise DoesNotApply("the command names no model's folder on this machine")
        return Checkpoints(resumed=resumed)
    found = checkpoint_files.read(Path(model.folder))
    # the fact `model` tells of everything that is wrong with ordinary weights
    return Checkpoints(tuple(each for each in found if each.kind != WEIGHTS), model.name, resumed)


def _resumed(training: Training | None, script: Script | None, cwd: Path) -> Model | None:
    """Of `resume_from_checkpoint`, where it names a folder with a whole model's configuration.

    What `trainer.train(resume_from_checkpoint=...)` says is what counts: Trainer reads no argument of that name.
    """
    from doctor.readers.files import model_files

    told = next((call.resumes for call in script.calls if call.resumes is not None), None) if script else None
    if told is not None:
        name = told.value if told.known else None
    else:
        name = training.value("resume_from_checkpoint") if training is not None else None
    if not isinstance(name, str) or not name.strip():
        return None
    try:
        folder = cwd / name
        return model_files.read(name, folder) if (folder / "config.json").is_file() else None
    except (OSError, ValueError):
        return None
