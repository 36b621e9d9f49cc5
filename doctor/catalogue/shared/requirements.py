"""Shared by the checks of the interpreter and its packages: the stack's names, wanted classes, requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from doctor import data
from doctor.base.patterns import later
from doctor.base.ranges import numbers, within, within_numbers
from doctor.base.record import record
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Distribution, Packages, normalised
from doctor.facts.script import Script
from doctor.facts.training import Training

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

#: packages of the stack that the version knowledge does not list
_MORE = frozenset({
    "compressed-tensors", "cuda-toolkit", "kernels", "outlines", "outlines-core", "tilelang", "torchao", "torchcodec",
    "unsloth", "unsloth-zoo", "xgrammar",
})  # fmt: skip

#: import name -> distributions that bring it, where the two differ
MODULES: Mapping[str, tuple[str, ...]] = {
    "doctor": ("grpo-doctor", "doctor"),
    "flashinfer": ("flashinfer-python",),
    "hydra": ("hydra-core",),
    "pynvml": ("nvidia-ml-py", "pynvml"),
    "tensorboardX": ("tensorboardx",),
    "tensorboard": ("tensorboard", "tb-nightly"),
    "swift": ("ms-swift",),
    "trinity": ("trinity-rft",),
    "triton": ("triton", "pytorch-triton", "triton-nightly"),
    "yaml": ("pyyaml",),
}

_NAME = later(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
#: a name with a range, in brackets or not: https://packaging.python.org/en/latest/specifications/dependency-specifiers/
_PLAIN = later(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[\w\s,.-]*\]\s*)?(?:\(([^()]*)\)|([<>=!~][^()@]*))?\s*")

#: of a marker: what makes one more than conditions that all must hold, one of these, and variables that are no versions
_ALTERNATIVES = later(r"\bor\b|\(")
_CONDITION = later(r"""\s*(\w+)\s*(<=|>=|==|!=|<|>)\s*(["'])([\w.]+)\3\s*""")
_NAMES_IN_MARKERS = frozenset({
    "implementation_name", "os_name", "platform_machine", "platform_python_implementation", "platform_system",
    "sys_platform",
})  # fmt: skip


@cache
def stack() -> frozenset[str]:
    """Return the distributions whose versions must fit together."""
    return frozenset(data.packages()) | _MORE


def distributions_of(module: str) -> tuple[str, ...]:
    """Return the distributions that may bring an importable name."""
    return MODULES.get(module, (module.replace("_", "-"),))


def wants_grpo(launch: Launch | None, script: Script | None, training: Training | None) -> bool | None:
    """Tell whether the command trains with TRL's GRPO; None where there is no command or it cannot be read."""
    if launch is None:
        return None
    if launch.kind == "trl":
        return launch.subcommand == "grpo"
    if training is not None and (training.config_class == "GRPOConfig" or training.trainer == "GRPOTrainer"):
        return True
    if script is not None:
        return any(name in script.imports for name in ("trl.GRPOTrainer", "trl.GRPOConfig"))
    return None if launch.trains and launch.kind not in {"verl", "trinity"} else False


@cache
def specifiers(text: str) -> SpecifierSet | None:
    """Read a version range; None for the spellings of old metadata that no tool reads any more (`>=3.6.*`)."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


def python_allowed(requires_python: str | None, version: str) -> bool | None:
    """Whether an interpreter is in a Requires-Python range; None when the metadata state none that can be read.

    A pre-release of Python counts as its release: 3.14.0rc1 runs what asks for 3.14.
    """
    if not requires_python:
        return None
    try:
        return within(_base(version), requires_python)
    except ValueError:
        return None


def _base(version: str) -> str:
    """The release that a version is one of, or comes before."""
    if numbers(version) is not None:
        return version
    from packaging.version import Version

    return Version(version).base_version


@record
class Need:
    """A requirement that a distribution of the stack states: `line` as in its metadata, `name` normalised."""

    owner: Distribution
    name: str
    line: str


def needs(packages: Packages) -> Iterator[Need]:
    """Yield the requirements of the stack's packages, those of extras left out."""
    for name in sorted(stack()):
        owner = packages.distributions.get(name)
        if owner is None or owner.version is None:
            continue
        for line in _requires(owner, packages.source):
            if "extra ==" in line or "extra==" in line:
                continue
            match = _NAME.match(line)
            if match:
                yield Need(owner, normalised(match[1]), line)


def _requires(owner: Distribution, source: str) -> tuple[str, ...]:
    """Metadata's own lines; of a pasted list, which has none, what the release of that version states."""
    if owner.requires or source == "probe" or owner.version is None:
        return owner.requires
    release = data.release(owner.name, owner.version)
    return (release.requires or ()) if release is not None else ()


def plainly_satisfied(line: str, version: str) -> bool:
    """Whether a Requires-Dist line is a name with a range that a release of numbers is in, seen without `packaging`.

    A marker does not matter where the range holds anyway.
    """
    match = _PLAIN.fullmatch(line.partition(";")[0])
    return match is not None and within_numbers(version, match[1] or match[2] or "") is True


def plainly_excluded(line: str, interpreter: Interpreter | None) -> bool:
    """Whether a condition of a Requires-Dist line's marker is seen to fail without `packaging`, where all must hold."""
    marker = line.partition(";")[2]
    if interpreter is None or not marker or _ALTERNATIVES.search(marker):
        return False
    known = _markers(interpreter)
    return any(_fails(condition, known) for condition in marker.split(" and "))


def _fails(condition: str, known: Mapping[str, str]) -> bool:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return False
    name, relation, _, value = match.groups()
    if name in ("python_version", "python_full_version"):
        return within_numbers(known[name], f"{relation}{value}") is False
    return name in _NAMES_IN_MARKERS and relation in ("==", "!=") and (known[name] == value) is (relation == "!=")


def parsed(line: str) -> Requirement | None:
    """Read a Requires-Dist line; None when it is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def applies(requirement: Requirement, interpreter: Interpreter | None) -> bool:
    """Whether the marker holds for the interpreter that is judged; without one nothing conditional is claimed."""
    if requirement.marker is None:
        return True
    return interpreter is not None and requirement.marker.evaluate(_markers(interpreter))


def _markers(interpreter: Interpreter) -> dict[str, str]:
    """Variables of PEP 508 for the patient; `evaluate` would take the doctor's own."""
    windows = interpreter.platform == "win32"
    system = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(interpreter.platform, "")
    cpython = interpreter.implementation == "cpython"
    return {
        "extra": "",
        "implementation_name": interpreter.implementation,
        "implementation_version": interpreter.version,
        "os_name": "nt" if windows else "posix",
        "platform_machine": interpreter.machine,
        "platform_python_implementation": "CPython" if cpython else "PyPy",
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": interpreter.version,
        "python_version": ".".join(map(str, interpreter.version_info)),
        "sys_platform": interpreter.platform,
    }


def satisfies(version: str, wanted: SpecifierSet) -> bool | None:
    """Whether an installed version is in a range as pip sees it; a build before a release counts as that release.

    NVIDIA's containers and nightly wheels call themselves 2.6.0a0 or 2.9.0.dev2025; their makers mean the release.
    """
    from packaging.version import Version

    try:
        installed = Version(version)
    except ValueError:
        return None
    if wanted.contains(installed, prereleases=True) or wanted.contains(installed.public, prereleases=True):
        return True
    return installed.is_prerelease and wanted.contains(installed.base_version, prereleases=True)


def present(packages: Packages, name: str) -> bool:
    """Whether a distribution is there in any form: metadata, conda's own record, or an installed module without either.

    A file of the user's with that name is not the package.
    """
    conda = {normalised(each) for each in packages.conda}
    known = {"torch": {"pytorch", "pytorch-gpu", "libtorch"}}.get(name, set())
    module = packages.modules.get(name.replace("-", "_")) or ""
    bare = name.replace("-", "_") in packages.namespaces
    installed = ("/site-packages/" in module or "/dist-packages/" in module) and not bare
    return name in packages.distributions or bool(conda & {name, *known}) or installed
