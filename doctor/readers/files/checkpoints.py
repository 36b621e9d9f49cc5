"""Collects the fact `checkpoints`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.evidence import Observed
from doctor.base.fact import Context, DoesNotApply, fact
from doctor.base.patterns import later
from doctor.facts.checkpoints import WEIGHTS, Checkpoints
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training

_CHECKPOINT = later(r"checkpoint-\d+\Z")


@fact(about="command")
def collect(
    context: Context,
    launch: Launch | None,
    training: Training | None,
    model: Model | None,
    script: Script | None,
    framework_config: FrameworkConfig | None,
) -> Checkpoints:
    """Look whether the folder that the command names as its model holds pieces instead of weights.

    Raises:
        DoesNotApply: no model's folder is known, and none to go on from.

    """
    from doctor.readers.files import checkpoint_files

    cwd = Path(launch.folder) if launch is not None and launch.folder else context.cwd
    told = next((call.resumes for call in script.calls if call.resumes is not None), None) if script else None
    if launch is None or launch.image is None:
        told = told or _told_a_framework(framework_config)
    resumed = _resumed(told, training, cwd)
    searched = _absent(told, training, cwd)
    absent = told if searched else None
    if model is None or not model.here:
        if resumed is None and absent is None:
            raise DoesNotApply("the command names no model's folder on this machine")
        return Checkpoints(resumed=resumed, absent=absent, searched=searched)
    found = checkpoint_files.read(Path(model.folder))
    # the fact `model` tells of everything that is wrong with ordinary weights
    kept = tuple(each for each in found if each.kind != WEIGHTS)
    return Checkpoints(kept, model.name, resumed, absent, searched)


#: hand their setting of this name to `trainer.train`
_HAND_ON = frozenset({"llamafactory", "axolotl"})


def _told_a_framework(config: FrameworkConfig | None) -> Observed | None:
    """`resume_from_checkpoint` of a framework, where it is a path."""
    setting = config.settings.get("resume_from_checkpoint") if config is not None else None
    if setting is None or config is None or config.framework not in _HAND_ON:
        return None
    return setting if setting.known and isinstance(setting.value, str) and setting.value.strip() else None


def _absent(told: Observed | None, training: Training | None, cwd: Path) -> str:
    """The folder in which `trainer.train(resume_from_checkpoint=...)` will find nothing; empty where it may.

    True stands for the last `checkpoint-N` of the output folder
    (https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer_utils.py, `get_last_checkpoint`).
    """
    if told is None or not told.known:
        return ""
    if told.value is not True:
        return (
            told.value
            if isinstance(told.value, str) and told.value.strip() and not _is_folder(cwd / told.value)
            else ""
        )
    output = training.value("output_dir") if training is not None else None
    if not isinstance(output, str) or not output.strip():
        return ""
    try:
        names = [each.name for each in (cwd / output).iterdir()] if _is_folder(cwd / output) else []
    except OSError:
        return ""
    return "" if any(_CHECKPOINT.match(each) for each in names) else output


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return True  # nobody knows


def _resumed(told: Observed | None, training: Training | None, cwd: Path) -> Model | None:
    """Of `resume_from_checkpoint`, where it names a folder with a whole model's configuration.

    What `trainer.train(resume_from_checkpoint=...)` says is what counts: Trainer reads no argument of that name.
    """
    from doctor.readers.files import model_files

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
