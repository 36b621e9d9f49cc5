"""What a run leaves beside its logs: rollouts, flight recorders, checkpoints. Found, read, and judged."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.record import mutable, record
from doctor.catalogue.finding import Finding
from doctor.catalogue.outcome import Crashed, Outcome, Skipped, crash_of

if TYPE_CHECKING:  # the readers are loaded when there is something for them: most logs come alone
    from doctor.facts.checkpoints import Checkpoint
    from doctor.logs.rollouts.judged import Judged, RolloutDump

_DEEPEST = 8
_MOST_ENTRIES = 50_000
_SEARCH_S = 20.0
#: a file of weights that is named stands for the folder around it
_WEIGHTS = frozenset({".safetensors", ".pt", ".pth", ".bin", ".distcp"})
#: what is log text by its name, and nothing else
_LOG_TEXT = frozenset({".log", ".out", ".err", ".txt", ".gz", ".md", ".stdout", ".stderr", ".yaml", ".py"})
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git", ".venv", "node_modules", "site-packages", "wandb"})


@record
class Artifacts:
    """What came of everything that is no log.

    Args:
        findings: most important first, one a problem and place.
        summary: what was looked at, one clause each.
        crashed: bugs of ours; the rest went on.
        skipped: what could not be seen, with the reason.
        files: paths that were read here and are no log text; of a checkpoint its folder.

    """

    findings: tuple[Finding, ...] = ()
    summary: tuple[str, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    files: tuple[str, ...] = ()


@mutable
class _Search:
    """Files and folders seen, until there are too many or it takes too long."""

    until: float
    entries: int = 0
    files: list[tuple[Path, str]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    recorders: list[Path] = field(default_factory=list)
    stopped: str = ""

    def walk(self, folder: Path, depth: int = 0) -> None:
        """Take in a folder and what lies below; linked folders are left out, they may lead in a circle."""
        try:
            entries = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError:
            return
        self.folders.append(folder)
        for entry in entries:
            self.entries += 1
            if self.entries > _MOST_ENTRIES or time.monotonic() > self.until:
                self.stopped = f"`{folder}`: the search ended after {self.entries - 1:,} files"
                return
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST and entry.name not in _SKIPPED_FOLDERS:
                    self.walk(Path(entry.path), depth + 1)
            else:
                self.take(Path(entry.path))
            if self.stopped:
                return

    def take(self, path: Path) -> None:
        """Take in a file, when it is one of rollouts or a dump of the flight recorder."""
        if not path.is_file():
            return
        kind = _kind(path)
        if kind == _RECORDER:
            self.recorders.append(path)
        elif kind:
            self.files.append((path, kind))


def is_artifact(path: str) -> bool:
    """Whether a file is read here, and is no log text."""
    file = Path(path)
    return file.is_file() and (bool(_kind(file)) or _is_weights(file))


_RECORDER = "flight recorder"


def _kind(path: Path) -> str:
    """What a file is: a kind of rollouts, a flight recorder's dump, or "" for anything else."""
    if path.suffix in _LOG_TEXT and not path.name.endswith(".jsonl.gz"):
        return ""
    from doctor.logs import flight_recorder
    from doctor.logs.rollouts import judged as rollouts

    return rollouts.kind_of(path) or (_RECORDER if flight_recorder.is_dump(path) else "")


def _expanded(paths: Sequence[str]) -> Iterator[Path]:
    """Files and folders, globs as the files that they match."""
    for path in paths:
        if glob.has_magic(path) and not Path(path).exists():
            yield from map(Path, sorted(glob.glob(path, recursive=True)))  # noqa: PTH207 - absolute ones too
        else:
            yield Path(path)


def _is_weights(path: Path) -> bool:
    return path.suffix in _WEIGHTS and path.is_file() and _kind(path) != _RECORDER


def read(paths: Sequence[str]) -> Artifacts:
    """Look for rollouts and checkpoints at the given files and folders, and judge them.

    Nothing here raises: what cannot be read is skipped with a reason.
    """
    search = _Search(time.monotonic() + _SEARCH_S)
    named: list[Path] = []
    for path in _expanded(paths):
        if path.is_dir():
            search.walk(path)
        else:
            search.take(path)
            if _is_weights(path):
                search.folders.append(path.parent)
                named.append(path)
    judged = _judged(search) if search.files or search.recorders else []
    there, of_checkpoints = _of_checkpoints(search)
    skipped = [each for one in judged for each in one.skipped]
    skipped += [Skipped("artifacts", search.stopped)] if search.stopped else []
    return Artifacts(
        (*_one_a_problem(finding for one in judged for finding in one.findings), *of_checkpoints.findings),
        tuple(each for each in (*(one.summary for one in judged), _summary(there)) if each),
        (*(each for one in judged for each in one.crashed), *of_checkpoints.crashed),
        tuple(dict.fromkeys(skipped)),
        tuple(
            str(path)
            for path in (
                *search.recorders,
                *(each for each, _ in search.files),
                *named,
                *(each.folder for each in there),
            )
        ),
    )


def _judged(search: _Search) -> list[Judged]:
    from doctor.logs.rollouts.judged import dumps

    return [_recorded(search.recorders), *(_of_rollouts(each) for each in dumps(search.files))]


def _of_rollouts(dump: RolloutDump) -> Judged:
    from doctor.logs.rollouts.judged import Judged, judge

    try:
        return judge(dump)
    except Exception as exc:  # noqa: BLE001 - a bug of ours costs this dump, not the report
        crash = crash_of("rollouts", exc)
        return Judged(crashed=[crash])


def _of_checkpoints(search: _Search) -> tuple[list[Checkpoint], Outcome]:
    if not search.folders:
        return [], Outcome((), (), (), 0, 0.0)
    from doctor.logs import checkpoints

    try:
        return checkpoints.judge(dict.fromkeys(search.folders))
    except Exception as exc:  # noqa: BLE001 - a bug of ours costs the checkpoints, not the report
        crash = crash_of("checkpoints", exc)
        return [], Outcome((), (), (crash,), 0, 0.0)


def _summary(there: list[Checkpoint]) -> str:
    if not there:
        return ""
    from doctor.logs.checkpoints import summary

    return summary(there)


def _recorded(dumps: Sequence[Path]) -> Judged:
    """What the flight recorders of all ranks show together."""
    from doctor.logs import flight_recorder
    from doctor.logs.rollouts.judged import Judged

    try:
        found = flight_recorder.examine(*dumps) if dumps else flight_recorder.Recorded()
    except Exception as exc:  # noqa: BLE001 - a bug of ours costs these dumps, not the report
        crash = crash_of("flight_recorder", exc)
        return Judged(crashed=[crash])
    summary = f"flight recorders of {found.read} rank{'' if found.read == 1 else 's'}" if found.read else ""
    return Judged(list(found.findings), summary, [Skipped("flight_recorder", each) for each in found.unread])


def _one_a_problem(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The first finding of each problem: two dumps of one run say the same."""
    seen: set[str] = set()
    for each in findings:
        if each.problem.id not in seen:
            seen.add(each.problem.id)
            yield each
