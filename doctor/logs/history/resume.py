"""Checkpoints of a run, the latest first: which are complete, and what a resume from each finds and lacks.

What a resume reads: https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py
(`_load_from_checkpoint`, `_load_optimizer_and_scheduler`, `_load_rng_state`),
https://github.com/volcengine/verl/blob/main/verl/utils/checkpoint/fsdp_checkpoint_manager.py (model, optim and
extra_state of each rank), https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/engine.py
(`load_checkpoint`: model and optimizer states of each rank, the folder that `latest` names).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.facts.checkpoints import RANK_SHARDS, WEIGHTS, ZERO, Checkpoint
from doctor.readers.files import checkpoint_files

#: folders that a checkpoint is looked for in: their depth and number
_DEEPEST, _MOST_FOLDERS = 4, 5_000
_STEP = later(r"(?:global_step_?|checkpoint[-_]|iter_|step[-_]?)(\d{1,11})")
_WEIGHT_FILE = later(r"(?:model|pytorch_model|adapter_model)(?:-\d{5}-of-\d{5})?\.(?:safetensors|bin)")
#: folders of a checkpoint that are no checkpoints themselves
_PARTS = frozenset({"huggingface", "dist_ckpt", "pytorch_model_fsdp_0", "optimizer_0", "lora_adapter"})


@record
class Resumable:
    """One checkpoint.

    Args:
        folder: where it lies; kind: its layout (`doctor.facts.checkpoints`), or `deepspeed`, `adapter`.
        step: from its name; files: pieces of the model.
        problems: why it is not complete, a clause each.
        needs: what a resume reads -> whether it is there.
        how: what to pass to the trainer.
        saved_s: when it was written last (s since the epoch).

    """

    folder: str
    kind: str
    step: int | None
    files: int
    problems: tuple[str, ...]
    needs: dict[str, bool]
    how: str
    saved_s: float

    @property
    def whole(self) -> bool:
        """Whether its model is complete."""
        return not self.problems

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "folder": redact_text(self.folder), "kind": self.kind, "step": self.step, "files": self.files,
            "complete": self.whole, "problems": list(self.problems), "needs": dict(self.needs),
            "how": redact_text(self.how),
        }  # fmt: skip


def look(folder: Path) -> list[Resumable]:
    """The checkpoints in a folder and below it, the latest step first."""
    found = [made for each in _folders(folder) if (made := _one(each)) is not None]
    return sorted(found, key=lambda each: (each.step if each.step is not None else -1, each.saved_s), reverse=True)


def _folders(top: Path) -> Iterator[Path]:
    """The folder and those below it; what lies in a checkpoint is part of it."""
    for root, names, _ in islice(os.walk(top), _MOST_FOLDERS):
        path = Path(root)
        yield path
        deep = len(path.relative_to(top).parts)
        inside = any(checkpoint_files.read(path)) or _weights(path)
        names[:] = [] if deep >= _DEEPEST or (inside and path != top) else [
            each for each in names if each not in _PARTS and not each.startswith(".")
        ]  # fmt: skip


def _weights(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if _WEIGHT_FILE.fullmatch(each.name))
    except OSError:
        return []


def _one(folder: Path) -> Resumable | None:
    pieces = next(iter(checkpoint_files.read(folder)), None)
    weights = _weights(folder)
    if pieces is None and not weights and not _is_left(folder):
        return None
    if pieces is None and not _is_saved(folder):
        return None  # a model that was downloaded, or exported at the end
    names = _names(folder, pieces)
    kind = pieces.kind if pieces is not None else _kind(folder, weights)
    states = [each for each in names if each.endswith((".pt", ".pth")) and "/" not in each]
    lost = ["no model weights"] if pieces is None and not weights else []
    problems = [
        *lost,
        *_problems(pieces),
        *(f"`{each.name}` is cut off" for each in checkpoint_files.cut_off(folder, states)),
    ]
    step = pieces.step if pieces is not None and pieces.step is not None else _step(folder)
    try:
        saved_s = max((folder / each).stat().st_mtime for each in names) if names else folder.stat().st_mtime
    except OSError:
        saved_s = 0.0
    files = pieces.files if pieces is not None else len(weights)
    return Resumable(
        str(folder),
        kind,
        step,
        files,
        tuple(dict.fromkeys(problems)),
        _needs(names, pieces),
        _how(folder, kind),
        saved_s,
    )


def _is_left(folder: Path) -> bool:
    """Whether it is what is left of a checkpoint of a Trainer: its states, and weights neither here nor below."""
    if _step(folder) is None or not any((folder / each).is_file() for each in ("trainer_state.json", "optimizer.pt")):
        return False
    return not any(each.is_dir() for each in folder.iterdir())


def _kind(folder: Path, weights: list[str]) -> str:
    adapter = weights[0].startswith("adapter") if weights else (folder / "adapter_config.json").is_file()
    return "adapter" if adapter else WEIGHTS


def _is_saved(folder: Path) -> bool:
    return _step(folder) is not None or (folder / "trainer_state.json").is_file()


def _names(folder: Path, pieces: Checkpoint | None) -> list[str]:
    """Files of it, those of DeepSpeed's folder with that before them."""
    found = []
    for below in ("", *([pieces.tag] if pieces is not None and pieces.tag else [])):
        try:
            inside = [each.name for each in (folder / below).iterdir() if each.is_file()]
        except OSError:
            continue
        found += [f"{below}/{each}" if below else each for each in inside]
    return sorted(found)


def _problems(pieces: Checkpoint | None) -> Iterator[str]:
    if pieces is None:
        return
    if pieces.missing:
        more = f" and {len(pieces.missing) - 3} more" if len(pieces.missing) > 3 else ""
        yield f"missing: {', '.join(pieces.missing[:3])}{more}"
    yield from (f"`{each.name}` is cut off" for each in pieces.cut_off[:3])
    if pieces.pointers:
        yield f"{len(pieces.pointers)} Git LFS pointers instead of weights"
    if pieces.base is not None:
        yield f"its base model `{pieces.base}` is not there"


def _step(folder: Path) -> int | None:
    match = next((found for part in (folder.name, folder.parent.name) if (found := _STEP.fullmatch(part))), None)
    return int(match[1]) if match else None


def _needs(names: list[str], pieces: Checkpoint | None) -> dict[str, bool]:
    """What a resume reads -> whether a file of it is there."""
    if pieces is not None and pieces.kind == RANK_SHARDS:
        parts = {"optimizer": "optim_world_size_", "step and random state": "extra_state_world_size_"}
        return {what: any(each.startswith(begin) for each in names) for what, begin in parts.items()}
    zero = pieces is not None and pieces.kind == ZERO
    return {
        "trainer_state.json": "trainer_state.json" in names,
        "optimizer": zero or any(each.startswith(("optimizer.", "optimizer_")) for each in names),
        "scheduler": "scheduler.pt" in names or (zero and any(each.endswith("model_states.pt") for each in names)),
        "random state": any(each.startswith(("rng_state", "random_states")) for each in names),
    }


def _how(folder: Path, kind: str) -> str:
    quoted = shlex.quote(str(folder))
    if kind in {RANK_SHARDS, "megatron"}:
        # an actor's folder lies in that of its step
        step = folder if _STEP.fullmatch(folder.name) else folder.parent
        return f"trainer.resume_mode=resume_path trainer.resume_from_path={shlex.quote(str(step))}"
    return f"trainer.train(resume_from_checkpoint={str(folder)!r}), or --resume_from_checkpoint {quoted}"
