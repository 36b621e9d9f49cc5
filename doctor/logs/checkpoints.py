"""Checkpoints among what a run left: every folder is looked at once, and the checks of the catalogue judge them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from doctor.core.index import Entry, load
from doctor.core.outcome import Outcome
from doctor.core.runner import run_checks
from doctor.facts import _checkpoint_files
from doctor.facts.base import FactState
from doctor.facts.checkpoints import Checkpoint, Checkpoints

_FACT = "checkpoints"


def judge(folders: Iterable[Path], entries: Iterable[Entry] | None = None) -> tuple[list[Checkpoint], Outcome]:
    """Recognise the checkpoints in some folders and judge them; (all that were found, what is to be said)."""
    found = [each for folder in folders for each in _checkpoint_files.read(folder)]
    if not found:
        return [], Outcome((), (), (), 0, 0.0)
    states = {_FACT: FactState("ok", Checkpoints(tuple(found)))}
    return found, run_checks(_of_checkpoints(load() if entries is None else entries), states)


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
