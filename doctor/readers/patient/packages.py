"""Collects the fact `packages`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor.base.fact import Context, fact
from doctor.facts.launch import Launch
from doctor.facts.packages import Copy, Distribution, Packages, TorchBuild, normalised
from doctor.facts.target import Target

if TYPE_CHECKING:
    from doctor.readers.files.pinned import Pin


#: an environment with none of these trains nothing: what is pinned is meant
_TRAINS = ("torch", "transformers", "trl", "vllm", "deepspeed", "accelerate", "verl", "sglang", "ray")
#: with nothing but these it trains no language model either
_ALONE = frozenset({"torch", "ray"})


@fact(timeout_s=4.0)
def collect(context: Context, target: Target, launch: Launch | None) -> Packages:
    """Put the probe's records together: one distribution per name, later copies beside it.

    Where the interpreter has nothing that trains, or torch and Ray alone, and is not named by the user, the versions
    that the project's files pin stand for the environment that is meant.
    """
    found = _installed(target)
    installed = {name for name in _TRAINS if found.version(name)}
    if context.python or launch is None or not launch.argv or installed - _ALONE:
        return found
    from doctor.readers.files.pinned import pins_of

    pins = pins_of(Path(launch.folder or context.cwd), launch.script)
    if not any(name in pins for name in _TRAINS if name not in installed):
        return found
    files = dict.fromkeys(Path(pin.place.file).name for pin in pins.values())
    return Packages(
        distributions={name: Distribution(name, pin.version, location=_where(pin)) for name, pin in pins.items()},
        source=", ".join(files),
        pinned=True,
        complete=False,
    )


def _where(pin: Pin) -> str:
    return f"{pin.place.file}:{pin.place.line}"


def _installed(target: Target) -> Packages:
    """What the interpreter has."""
    raw = target.raw
    build = raw["torch"]
    return Packages(
        distributions=merged(raw["distributions"]),
        modules=raw["modules"],
        torch_build=TorchBuild(build["version"], build["cuda"], build["hip"]) if build else None,
        wheel_libraries=raw["libraries"],
        missing_files=tuple(raw["missing"]),
        namespaces=tuple(raw["namespaces"]),
        leftovers=tuple(raw["leftovers"]),
        conda=raw["conda"],
        repaired=tuple(raw["repaired"]),
        unread=tuple(raw["unread"]),
        complete=not raw["unread"],  # a hook that only a normal start runs may give any module
    )


def merged(records: Iterable[Mapping[str, Any]]) -> dict[str, Distribution]:
    """Distributions by normalised name from the probe's records, which stand in the order of the path."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in records:
        groups.setdefault(normalised(each["name"]), []).append(each)
    return {name: _distribution(name, group) for name, group in sorted(groups.items())}


def _distribution(name: str, group: list[Mapping[str, Any]]) -> Distribution:
    """One distribution from all of its records."""
    folder = group[0]["folder"]
    here = [each for each in group if each["folder"] == folder]
    first = next((each for each in here if not each["broken"]), here[0])
    source = next((each["editable"] for each in group if each["editable"]), None)
    elsewhere = [each for each in group if each["folder"] != folder]
    copies = [each for each in elsewhere if not _same_checkout(source, folder, each["folder"])]
    version, broken = first["version"], first["broken"] or _contradiction(here)
    if len({each["version"] for each in here}) > 1:
        version = None if all(each["version"] for each in here) else version
    return Distribution(
        name=name,
        version=version,
        location=folder,
        requires=tuple(_without_secrets(line) for line in first["requires"]),
        requires_python=first["requires_python"],
        editable=source is not None and (first["editable"] is not None or _inside(folder, source)),
        shadowed=tuple(Copy(each["version"], each["folder"]) for each in copies),
        broken=broken,
        editable_from=source,
    )


def _contradiction(here: list[Mapping[str, Any]]) -> str | None:
    """Say why several metadata folders of one distribution in one place cannot be trusted; None when they agree."""
    if len({each["version"] for each in here}) == 1:
        return None
    files = sorted(each["file"] for each in here)
    return f"{', '.join(files[:-1])} and {files[-1]} stand side by side"


def _same_checkout(source: str | None, folder: str, other: str) -> bool:
    """Whether two records are one development install: its metadata and the egg-info in its own source folder."""
    return source is not None and (_inside(other, source) or _inside(folder, source))


def _inside(folder: str, source: str) -> bool:
    return folder == source or folder.startswith(source.rstrip("/") + "/")


def _without_secrets(line: str) -> str:
    """Take a token out of a requirement that names a URL."""
    if "://" not in line:
        return line
    from doctor.base.redact import redact_text

    return redact_text(line)
