"""From a solution to commands: what to run, and what takes it back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.requirements import Requirement

from doctor.base.whole_file import write_new
from doctor.catalogue.plan import Plan, Refused, Run, Safety
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages, normalised
from doctor.mend.environment import uv
from doctor.mend.environment.uv import Solution

PROBLEM = "ENV"


def plan(python: str, packages: Packages, solution: Solution, *, offline: bool) -> Plan:
    """Install what is added, then what is replaced; the packages are named in full, so nothing else is resolved.

    Raises:
        Refused: uv could not say whether the old versions can be had again.

    """
    flags = ("--no-deps", "--break-system-packages", *(("--offline",) if offline else ()))
    install = (uv.program(), "pip", "install", "--python", python, *flags)
    remove = (uv.program(), "pip", "uninstall", "--python", python, "--break-system-packages")
    new = [name for name in solution.added if name not in solution.removed]
    steps = []
    if new:
        steps.append(Run((*install, *_pinned(new, solution.added)), (*remove, *new)))
    if solution.replaced:
        old = _pinned(solution.replaced, solution.removed)
        lossless = not lost(python, packages, solution, offline=offline)
        undo = (*install, "--reinstall", *old) if lossless else None  # also where half of a package was left
        steps.append(Run((*install, *_pinned(solution.replaced, solution.added)), undo))
    return Plan(PROBLEM, Safety.UNSAFE, tuple(steps))


def _pinned(names: Iterable[str], versions: Mapping[str, str]) -> list[str]:
    return [f"{name}=={versions[name]}" for name in names]


def lost(python: str, packages: Packages, solution: Solution, *, offline: bool) -> list[str]:
    """Replaced packages whose old version no index gives again: local builds, development installs."""
    gone = []
    for name in solution.replaced:
        installed = packages.distributions.get(name)
        if installed is not None and installed.editable_from is not None:
            gone.append(name)
            continue
        pin = f"{name}=={solution.removed[name]}"
        code, _, _ = uv.call(
            python,
            ["pip", "install", "--dry-run", "--no-deps", "--break-system-packages", "--reinstall", pin],
            offline=offline,
        )
        if code != 0:
            gone.append(name)
    return gone


def command(packages: Packages, python: str, pins: Mapping[str, str], wanted: Iterable[str]) -> tuple[str, ...]:
    """The one command for the user's own hand: pip where the environment has it, else uv; with the extras wanted."""
    extras = {normalised(each.name): each for each in map(Requirement, wanted)}
    words = []
    for name, version in pins.items():
        asked = extras.get(name)
        words.append(
            f"{name}[{','.join(sorted(asked.extras))}]=={version}" if asked and asked.extras else f"{name}=={version}"
        )
    if packages.version("pip") is not None:
        return (python, "-m", "pip", "install", *words)
    return ("uv", "pip", "install", "--python", python, *words)


def refuse_unfit(interpreter: Interpreter) -> None:
    """Only a virtual environment of the user's own is changed.

    Raises:
        Refused: it is none, or its packages cannot be written.

    """
    if interpreter.environment_kind != "venv":
        kind = {"conda": "a conda environment", "system": "the system's Python"}[interpreter.environment_kind]
        msg = (
            f"`{interpreter.prefix}` is {kind}; the doctor installs into virtual environments only. Nothing was changed"
        )
        raise Refused(msg)
    prefix = os.path.realpath(interpreter.prefix)
    for each in interpreter.path:
        inside = os.path.realpath(each).startswith(prefix + os.sep)
        if inside and Path(each).name == "site-packages" and not os.access(each, os.W_OK):
            msg = f"`{each}` cannot be written by this user. Nothing was changed"
            raise Refused(msg)


def unmet(packages: Packages, after: Mapping[str, str], interpreter: Interpreter) -> list[str]:
    """Requirements of installed packages that a set of versions does not meet: "peft 0.15.0 needs transformers>=4"."""
    markers = {
        "python_version": ".".join(map(str, interpreter.version_info)),
        "python_full_version": interpreter.version,
    }
    found = []
    for name, each in packages.distributions.items():
        if name not in after or after[name] != each.version:
            continue  # another release, whose requirements uv has seen to
        for line in each.requires:
            try:
                wanted = Requirement(line)
                applies = wanted.marker is None or wanted.marker.evaluate({**markers, "extra": ""})
                version = after.get(normalised(wanted.name))
                fits = version is None or wanted.specifier.contains(version, prereleases=True)
            except ValueError:
                continue
            if applies and not fits:
                found.append(f"{name} {each.version}: {wanted.name}{wanted.specifier} ({version})")
    return found


def lock(path: Path, packages: Packages, after: Mapping[str, str], interpreter: Interpreter) -> None:
    """Write every version into a requirements file; what no index has becomes a comment.

    Raises:
        Refused: there is such a file.
        OSError: it cannot be written.

    """
    lines = [f"# Python {interpreter.version}"]
    for name, version in sorted(after.items()):
        each = packages.distributions.get(name)
        source = each.editable_from if each is not None and each.version == version else None
        lines.append(f"# {name}=={version} is installed from {source}" if source else f"{name}=={version}")
    try:
        write_new(path, "\n".join(lines) + "\n")
    except FileExistsError:
        msg = f"`{path}` exists; it was not overwritten"
        raise Refused(msg) from None
