"""What the checks of checkpoints in pieces share: which of many to speak of, and the commands that join them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from doctor.base.evidence import Observed
from doctor.catalogue.problem import ERROR, INFO, Severity
from doctor.facts.checkpoints import Checkpoint, Checkpoints


def newest(checkpoints: Checkpoints, kind: str) -> Iterator[tuple[Checkpoint, int]]:
    """The newest checkpoint of each run that can be joined, and how many more there are of the run.

    A critic beside an actor is left out: it is needed for going on alone.
    """
    runs: dict[tuple[str, str], list[Checkpoint]] = {}
    for each in checkpoints.found:
        if each.kind == kind and not each.whole_weights:
            runs.setdefault(_run(each), []).append(each)
    for (run, part), group in runs.items():
        if part == "critic" and (run, "actor") in runs:
            continue
        whole = [each for each in group if not each.missing and not each.cut_off]
        if whole:
            yield max(whole, key=lambda each: each.step or 0), len(group) - 1


def _run(each: Checkpoint) -> tuple[str, str]:
    """(folder of the run, part of the model) of `<run>/global_step_40/actor` or `<run>/checkpoint-40`."""
    path = PurePath(each.folder)
    if path.name in ("actor", "critic", "policy"):
        return str(path.parent.parent), path.name
    return str(path.parent if each.step is not None else path), ""


def severity(checkpoints: Checkpoints) -> Severity:
    """An error where the command loads it as a model, else worth knowing."""
    return ERROR if checkpoints.model else INFO


def evidence(each: Checkpoint, files: str, more: int) -> tuple[Observed, ...]:
    """What was seen in the folder."""
    others = f"; {more} more such checkpoints" if more else ""
    return (Observed.quoted(each.folder, f"{each.files} files like {files}, no weights for other programs{others}"),)


def shown(folder: str) -> str:
    """The end of a path, enough to know it by."""
    return "/".join(PurePath(folder).parts[-2:])


def quoted(*parts: str) -> str:
    """A path for a shell."""
    return shlex.quote(str(PurePath(*parts)))


def merged(each: Checkpoint) -> str:
    """Folder beside a checkpoint for the joined weights."""
    return shlex.quote(f"{PurePath(each.folder)}-merged")
