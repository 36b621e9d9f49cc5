"""Checkpoints among what a run left: every folder is looked at once, and the checks of the catalogue judge them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from doctor.base.evidence import Observations, Observed
from doctor.base.record import replace
from doctor.catalogue.index import Entry, load
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.runner import run_checks
from doctor.facts.checkpoints import Checkpoint, Checkpoints
from doctor.readers.files import checkpoint_files

_FACT = "checkpoints"


def judge(folders: Iterable[Path], entries: Iterable[Entry] | None = None) -> tuple[list[Checkpoint], Outcome]:
    """Recognise the checkpoints in some folders and judge them; (all that were found, what is to be said)."""
    found = [each for folder in folders for each in checkpoint_files.read(folder)]
    if not found:
        return [], Outcome((), (), (), 0, 0.0)
    world = Observations([Observed(_FACT, Checkpoints(tuple(found)))])
    return found, run_checks(_of_checkpoints(load() if entries is None else entries), world)


def _of_checkpoints(entries: Iterable[Entry]) -> list[Entry]:
    """Problems with the checks that need this fact and no other: the machine's own facts are not the run's."""
    kept = []
    for entry in entries:
        checks = tuple(
            each for each in entry.checks if [fact for fact, needed in each.facts.values() if needed] == [_FACT]
        )
        if checks:
            kept.append(replace(entry, checks=checks))
    return kept


def summary(found: Iterable[Checkpoint]) -> str:
    """How many there are, by kind; "" for none."""
    kinds: dict[str, int] = {}
    for each in found:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    return ", ".join(f"{count} checkpoint{'s' if count > 1 else ''} ({kind})" for kind, count in sorted(kinds.items()))
