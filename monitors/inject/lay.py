"""Lays down in the run folder what brings the guard into a command's processes; runs on the doctor's side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from doctor.readers.patient.carry import carry, lay_hook, rule_modules
from doctor.run.folder import RunDir

#: folder of the run that holds the start-up hook, an archive, and the modules carried
PATIENT = "patient"

_MODULES = (
    "doctor.run.phases", "doctor.monitors.guard", "doctor.monitors.capsule", "doctor.monitors.witness",
    "doctor.monitors.inject.attach",
)  # fmt: skip
_PREFIX = "DOCTOR_GUARD_"


def lay(run: RunDir, settings: Mapping[str, Any], also: Iterable[str] = ()) -> dict[str, str]:
    """Copy hook and guard into the run folder.

    Args:
        run: the run folder.
        settings: `[guard]` of doctor.toml, which not every patient's Python can read.
        also: further modules or packages of the doctor to carry.

    Returns:
        Variables for the command: the hook goes first on PYTHONPATH.

    Raises:
        OSError: the folder cannot be written.

    """
    root = run.path / PATIENT
    carry([*_MODULES, *rule_modules(), *also], root / "lib")
    hook = root / "hook"
    lay_hook(Path(__file__).with_name("sitecustomize.py"), hook)
    path = os.environ.get("PYTHONPATH")
    return {**dict(_variables(settings)), "PYTHONPATH": f"{hook}{os.pathsep}{path}" if path else str(hook)}


def _variables(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings as variables; one that is set already counts."""
    for name, value in settings.items():
        variable = _PREFIX + name.upper()
        if variable in os.environ:
            continue
        pairs = isinstance(value, Mapping)
        yield variable, ",".join(f"{key}={each}" for key, each in value.items()) if pairs else str(value)


class Absent(NamedTuple):
    """Why the guard watched nothing: `failed_to_attach` with the error, `name_taken` with the place, `kept_out`, or
    `nothing_watched`.

    `record_lost` where what it said of itself has been removed.
    """

    name: str
    error: str = ""


#: what only a guard at work writes: the script may have made one itself (`doctor.watch(...)`, `Guard()`)
_OF_GUARD = frozenset({"step", "alarm"})


def what_became_of_it(run: RunDir) -> Absent | None:
    """Why the guard watched nothing; None where it did."""
    events = run.read_events()
    told = [each["data"] for each in events if each["kind"] == "monitor" and "guard" in each["data"]]
    if any(each["guard"] == "attached" for each in told) or any(each["kind"] in _OF_GUARD for each in events):
        return None
    root = run.path / PATIENT
    if not (root / "hook").exists():
        return Absent("record_lost")
    taken = [_text(each) for each in root.glob("taken-*")]
    if taken:
        return Absent("name_taken", taken[0].strip())
    failed = [each["error"] for each in told if each.get("error")] + [_text(each) for each in root.glob("failed-*")]
    if failed:
        last = failed[0].strip().splitlines()[-1] if failed[0].strip() else "unknown error"
        return Absent("failed_to_attach", last)
    return Absent("nothing_watched" if (root / "loaded").exists() else "kept_out")


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
