"""Lays down in the run folder what brings the guard into a command's processes; runs on the doctor's side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.core.carry import carry, rule_modules
from doctor.core.run_dir import RunDir

#: folder of the run that holds the start-up hook and the modules carried
PATIENT = "patient"

_MODULES = ("doctor.core.marks", "doctor.monitors.guard", "doctor.monitors.inject.attach")
_PREFIX = "DOCTOR_GUARD_"


def lay(run: RunDir, settings: Mapping[str, Any]) -> dict[str, str]:
    """Copy hook and guard into the run folder.

    Args:
        run: the run folder.
        settings: `[guard]` of doctor.toml, which not every patient's Python can read.

    Returns:
        Variables for the command: the hook goes first on PYTHONPATH.

    Raises:
        OSError: the folder cannot be written.

    """
    root = run.path / PATIENT
    carry([*_MODULES, *rule_modules()], root / "lib")
    hook = root / "hook"
    hook.mkdir(exist_ok=True)
    source = Path(__file__).with_name("sitecustomize.py")
    (hook / source.name).write_bytes(source.read_bytes())
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


def what_became_of_it(run: RunDir) -> str | None:
    """Why the guard watched nothing, in one sentence; None where it did."""
    told = [each["data"] for each in run.read_events() if each["kind"] == "monitor" and "guard" in each["data"]]
    if any(each["guard"] == "attached" for each in told):
        return None
    root = run.path / PATIENT
    failed = [each["error"] for each in told if each.get("error")] + [_text(each) for each in root.glob("failed-*")]
    if failed:
        last = failed[0].strip().splitlines()[-1] if failed[0].strip() else "unknown error"
        return f"the guard could not be attached ({last}); this is a bug of the doctor, and the run went on without it"
    if not (root / "loaded").exists():
        return (
            "the guard could not be attached: no Python process of the command (3.9 or newer) ran its start-up hook; "
            "`python -I`, `-E` and `-S` switch it off, and so does a sitecustomize put before it on PYTHONPATH"
        )
    return "the guard watched nothing: no process made a transformers trainer or a DeepSpeed engine"


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
