"""The distributions that the patient's interpreter would import."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from typing import Any

from doctor.core.record import record
from doctor.facts.base import fact
from doctor.facts.target import Target


@record
class Copy:
    """One more copy of a distribution further down the path."""

    version: str | None
    location: str


@record
class Distribution:
    """An installed distribution as its metadata states it.

    Args:
        name: normalised (`flash-attn`); `version` None when the metadata is broken or lacks it.
        location: folder on the path that holds it; `editable` for a development install.
        requires: Requires-Dist lines as written (with markers and extras).
        shadowed: copies later on the path, of which only the first is imported.
        broken: why the metadata cannot be trusted, None when it can.
        editable_from: source folder of a development install.

    """

    name: str
    version: str | None
    location: str = ""
    requires: tuple[str, ...] = ()
    requires_python: str | None = None
    editable: bool = False
    shadowed: tuple[Copy, ...] = ()
    broken: str | None = None
    editable_from: str | None = None


@record
class TorchBuild:
    """torch/version.py, read as text: `cuda` "12.4", or None for a CPU (or ROCm) build; `hip` for ROCm."""

    version: str
    cuda: str | None = None
    hip: str | None = None


@record
class Packages:
    """What is installed for the patient.

    Args:
        distributions: normalised name -> the copy that is imported.
        modules: import name of a stack package -> file or folder that `import` would take, None when there is none
            (a folder of the user's that shadows the package shows here).
        torch_build: None without torch, or when its version file cannot be read.
        wheel_libraries: nvidia-* libraries in site-packages: soname stem ("libcublasLt", "libnccl") -> path.
        source: "probe", "pip list", "collect_env" ...; `complete` False for a pasted partial list, where absence
            proves nothing.
        namespaces: names of `modules` that are only a folder without `__init__`: `import` gives an empty shell.
        leftovers: `~name` folders that an interrupted pip left in site-packages.
        repaired: files that set what releases with a known defect leave out, for somebody mended them.
        conda: what conda says it installed: name -> version (its CUDA libraries have no Python metadata).

    """

    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    modules: Mapping[str, str | None] = field(default_factory=dict)
    torch_build: TorchBuild | None = None
    wheel_libraries: Mapping[str, str] = field(default_factory=dict)
    missing_files: tuple[str, ...] = ()  # files that a stack package needs and lacks: "vllm/_version.py"
    source: str = "probe"
    complete: bool = True
    namespaces: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    conda: Mapping[str, str] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()

    def version(self, name: str) -> str | None:
        """Installed version of a distribution, None when absent or unreadable."""
        each = self.distributions.get(name)
        return each.version if each else None

    def matches(self, name: str, specifier: str) -> bool | None:
        """Whether the installed version is in a PEP 440 range; pre- and local versions count. None: absent."""
        text = self.version(name)
        return None if text is None else _in_range(text, specifier)


@cache  # a hundred problems ask about a handful of versions
def _in_range(text: str, specifier: str) -> bool | None:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(Version(text).public), prereleases=True)
    except InvalidVersion:
        return None


_SEPARATORS = re.compile(r"[-_.]+")


def normalised(name: str) -> str:
    """Name of a distribution as PEP 503 compares it."""
    return _SEPARATORS.sub("-", name).lower()


@fact(timeout_s=4.0)
def collect(target: Target) -> Packages:
    """Put the probe's records together: one distribution per name, later copies beside it."""
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
    from doctor.core.redact import redact_text

    return redact_text(line)
