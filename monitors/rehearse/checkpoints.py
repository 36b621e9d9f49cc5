"""A checkpoint of the user's to resume from: compared with the model by headers, and not loaded into a tiny model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.make_tiny import headers
from doctor.monitors.rehearse.names import real_name
from doctor.monitors.rehearse.settings import settings

_MOST = 12


def checkpoints(folder: Path, *, own: bool = True) -> list[Path]:
    """Checkpoints of a trainer's folder in order of their steps: the rehearsal's own, or those that were there."""
    found = [
        each
        for each in folder.glob("checkpoint-*")
        if each.name.rpartition("-")[2].isdecimal() and (_written_ns(each) >= settings().began_ns) is own
    ]
    return sorted(found, key=lambda each: int(each.name.rpartition("-")[2]))


def _written_ns(folder: Path) -> int:
    """When the last of a checkpoint's files was written."""
    return max((each.stat().st_mtime_ns for each in folder.rglob("*") if each.is_file()), default=0)


def of_the_user(trainer: Any, asked: Any) -> Any:
    """What the training is resumed from in a rehearsal: None where the checkpoint was there and is told about.

    Args:
        trainer: about to train.
        asked: `resume_from_checkpoint`, not empty.

    """
    try:
        folder = _folder(trainer, asked)
        if folder is None:
            return asked  # the trainer says what it thinks of it
        journal.write("resume_own", **_compared(trainer, folder))
    except Exception:  # noqa: BLE001 - a bug of ours
        journal.crashed("checkpoints.of_the_user")
    return None


def _folder(trainer: Any, asked: Any) -> Optional[Path]:
    if not isinstance(asked, bool):
        path = Path(os.fspath(asked))
        return path if path.is_dir() else None
    folder = getattr(trainer.args, "_doctor_output_dir", None) or trainer.args.output_dir
    saved = checkpoints(Path(folder), own=False)
    return saved[-1] if saved else None


def _compared(trainer: Any, folder: Path) -> dict[str, Any]:
    """Keys and shapes of the checkpoint beside those of the model that the run starts from."""
    theirs = headers(folder)
    config = getattr(getattr(trainer, "model", None), "config", None)
    named = real_name(str(getattr(config, "_name_or_path", "")))
    own = headers(Path(named)) if named and Path(named).is_dir() else None
    told: dict[str, Any] = {"folder": str(folder), "model": named, "state": (folder / "trainer_state.json").is_file()}
    if theirs is None or own is None:
        return {**told, "compared": False, "adapter": (folder / "adapter_model.safetensors").is_file()}
    shapes = {
        name: [each.get("shape"), own[name].get("shape")]
        for name, each in theirs.items()
        if name in own and each.get("shape") != own[name].get("shape")
    }
    return {
        **told, "compared": True, "missing": sorted(set(own) - set(theirs))[:_MOST],
        "unexpected": sorted(set(theirs) - set(own))[:_MOST], "shapes": dict(list(shapes.items())[:_MOST]),
    }  # fmt: skip
