"""The distributions that the patient's interpreter would import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.patterns import later
from doctor.base.ranges import within
from doctor.base.record import record


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
        source: "probe", "pip list", "collect_env" ...; `complete` False for a pasted partial list, and where a
            start runs code that was not read (an `import` line of a .pth file, a sitecustomize): absence proves
            nothing.
        namespaces: names of `modules` that are only a folder without `__init__`: `import` gives an empty shell.
        leftovers: `~name` folders that an interrupted pip left in site-packages.
        repaired: files that set what releases with a known defect leave out, for somebody mended them.
        unread: files that a start of this Python runs and that the doctor does not (a .pth file, a sitecustomize).
        pinned: versions are those that the files `source` of the project pin; no environment was seen.
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
    unread: tuple[str, ...] = ()
    pinned: bool = False

    @property
    def told_by(self) -> str:
        """What names a release where it is quoted."""
        return f"pinned in {self.source}" if self.pinned else "packages"

    def has(self, *names: str) -> bool | None:
        """Whether one of several distributions can be imported, by metadata, conda's record or the import path.

        Args:
            names: distributions, any of which will do; a module of the same name counts for one.

        Returns:
            True or False where that is certain; None where the list is not complete and names none of them.

        """
        wanted = {normalised(name) for name in names}
        if any(name in self.distributions for name in wanted) or not wanted.isdisjoint(map(normalised, self.conda)):
            return True
        modules = {module for module, path in self.modules.items() if path and module not in self.namespaces}
        if any(normalised(module) in wanted for module in modules):
            return True
        return False if self.complete else None

    def why_unknown(self, *names: str) -> str:
        """Reason why :meth:`has` knows nothing of these names, for a check that is skipped."""
        listed = ", ".join(f"`{name}`" for name in names)
        if self.unread:
            hook = self.unread[0]
            return f"whether {listed} can be imported is not known: `{hook}` is on its path and was not read"
        return f"whether {listed} is installed is not in the list of packages"

    def version(self, name: str) -> str | None:
        """Installed version of a distribution, None when absent or unreadable."""
        each = self.distributions.get(name)
        return each.version if each else None

    def matches(self, name: str, specifier: str) -> bool | None:
        """Whether the installed version is in a PEP 440 range; pre- and local versions count. None: absent."""
        text = self.version(name)
        try:
            return None if text is None else within(text, specifier)
        except ValueError:
            return None


_SEPARATORS = later(r"[-_.]+")


def normalised(name: str) -> str:
    """Name of a distribution as PEP 503 compares it."""
    return _SEPARATORS.sub("-", name).lower()
