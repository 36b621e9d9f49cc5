"""Judges imported-package-absent (PYT024), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed, Place
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.shared.requirements import distributions_of, present
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python.releases.requirement_missing import DISTRIBUTIONS, GONE_FROM_PYTHON, package_of
from doctor.data.stack import LOOKED_FOR
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OWN_MODULE = TOML["own_module"]
MESSAGE = TOML["main"]


#: frames of a package that is being built, in an environment of its own that pip makes and empties
_BUILDS = later(r"setup\.py:|<string>|[\\/]pip-(?:build|install|req|ephem)|build-env")


#: kind of launch -> packages that it imports before it does anything
_OF_KIND = {
    "accelerate": ("accelerate",),
    "torchrun": ("torch",),
    "trl": ("trl",),
    "trl-vllm-serve": ("trl", "vllm"),
    "vllm-serve": ("vllm",),
    "vllm-api-server": ("vllm",),
    "vllm-openai-server": ("vllm",),
    "verl": ("verl",),
    "trinity": ("trinity",),
    "swift": ("swift",),
    "swift-rollout": ("swift", "vllm"),
}


@check(PROBLEM, requires=("LCH002",))
def imported_package_absent(
    launch: Launch, packages: Packages, interpreter: Interpreter, script: Script | None
) -> Judgement:
    """Only a complete list proves an absence; `uv run` installs what the script names before it starts."""
    places = {module: place for module, place in _wanted(launch, script) if _absent(packages, module)}
    if not places:
        return
    if not packages.complete:
        yield Skip(packages.why_unknown(*places))
        return
    if "uv" in launch.wrappers or any(word.startswith("--container") for word in launch.argv):
        yield Skip(f"the command creates a separate environment, in which {_named(places)} may be installed")
        return
    place = next((each for each in places.values() if each is not None), None)
    changes_path = script is not None and bool({"sys.path", "sys", "site"} & set(script.imports))
    names = " ".join(distributions_of(module)[0] for module in places)
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=place.file, line=place.line, column=place.column) if place else None,
        confidence=LIKELY if changes_path else CONFIRMED,
        commands=(f"{interpreter.executable} -m pip install {names}",),
        evidence=(Observed.quoted(interpreter.executable, f"chosen: {interpreter.chosen_because}"),),
        names=_named(places),
        python=interpreter.executable,
    )


def _wanted(launch: Launch, script: Script | None) -> Iterator[tuple[str, Place | None]]:
    """Yield packages that are imported for certain: those of the script first, for they have a place."""
    for dotted, place in (script.needs if script is not None else {}).items():
        yield dotted.partition(".")[0], place
    yield from ((module, None) for module in _OF_KIND.get(launch.kind, ()))
    if launch.module:
        yield launch.module.partition(".")[0], None


def _absent(packages: Packages, module: str) -> bool:
    """Whether nothing brings a module that the probe looks for: no file on the path and no distribution."""
    if module not in LOOKED_FOR or packages.modules.get(module):
        return False
    return not any(present(packages, each) for each in distributions_of(module))


def _named(places: dict[str, Place | None]) -> str:
    return ", ".join(f"`{module}`" for module in places)


def explain(hits: Hits) -> Finding | None:
    """Of what the user's own code imports; a package that lacks another one is a matter of its own."""
    module = hits.first.groups["module"]
    frames = [each for each in hits.first.frames if not each.startswith(("importlib", "<frozen"))]
    if module in GONE_FROM_PYTHON or (frames and (package_of(frames[-1], frames) or _BUILDS.search(frames[-1]))):
        return None
    known = module in LOOKED_FOR or module in DISTRIBUTIONS
    dist = DISTRIBUTIONS.get(module, distributions_of(module)[0])
    return found(
        PROBLEM,
        LOG_MESSAGE if known else OWN_MODULE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if known and frames else LIKELY,
        commands=(f"python -m pip install {dist}",) if known else (),
        module=module,
        dist=dist,
    )
