"""Judges known-defect (PYT1494), whose words stand in the TOML beside it.

What is known stands in `doctor/data/defects.json`: versions, conditions, words. What a condition is says
`doctor.catalogue.shared.said`.
"""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Skip, found, said
from doctor.catalogue.problem import Severity
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.said import Said, others_of, settings_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
_COMMAND_LINE = "launch command"


@check(PROBLEM)
def known_defect(
    packages: Packages,
    launch: Launch,
    world: World | None,
    training: Training | None,
    verl: VerlConfig | None,
    framework_config: FrameworkConfig | None,
    model: Model | None,
    script: Script | None,
) -> Judgement:
    """A defect whose versions are installed and whose conditions all hold, as is known; a build may be mended."""
    run = Said(
        settings_of(launch, training, verl, framework_config),
        others_of(world, training, framework_config, model, script),
    )
    for defect in data.defects():
        fits = [packages.matches(name, versions) for name, versions in defect.when.items()]
        if False in fits or (None in fits and packages.complete):
            continue
        if not all(run.holds(*condition) for condition in defect.conditions):
            continue
        if None in fits:
            yield Skip(f"the installed version of {_unknown(packages, defect.when)} is not known")
            continue
        settings = tuple(filter(None, (run.setting(key) for key, _, _ in defect.conditions)))
        versions = tuple(Observed.quoted("packages", f"{name} {packages.version(name)}") for name in defect.when)
        first = next(iter(defect.when))
        yield found(
            PROBLEM, MESSAGE, severity=Severity(defect.severity), confidence=LIKELY,
            where=place_of(*settings), evidence=(*quoted(*settings), *versions), commands=defect.commands,
            links=defect.links, who=f"{first} {packages.version(first)}",
            what=said(*defect.what), why=said(*defect.why), fix=said(*defect.fix),
        )  # fmt: skip


#: settings that say how many processes a run has, where nothing else tells its world
_PROCESSES = ("nproc_per_node", "num_processes", "n_gpus_per_node", "trainer.n_gpus_per_node", "world_size")


def of_courses(courses: Courses) -> Finding | None:
    """The same of an excerpt: settings and versions as a person quotes them beside what the run printed.

    A defect that no release has mended needs no version; `unset` cannot be known of an excerpt.
    """
    if not courses.excerpt:
        return None
    run = Said(
        {name: Observed.written(name, value, True, str(value)) for name, value in courses.settings.items()},
        {"world.processes": courses.number(*_PROCESSES), "framework": None, "script.imports": None},
    )
    for defect in data.defects():
        fits = [_fits(courses.versions.get(name), versions) for name, versions in defect.when.items()]
        if False in fits or (None in fits and defect.open_on is None):
            continue
        known = all(
            relation != "unset" and run.holds(key, relation, wanted) for key, relation, wanted in defect.conditions
        )
        if known and len(defect.conditions) > 1:
            first = next(iter(defect.when))
            return found(
                PROBLEM, MESSAGE, severity=Severity(defect.severity), confidence=LIKELY, commands=defect.commands,
                links=defect.links, who=f"{first} {courses.versions.get(first, '')}".strip(),
                what=said(*defect.what), why=said(*defect.why), fix=said(*defect.fix),
            )  # fmt: skip
    return None


def _fits(version: str | None, specifier: str) -> bool | None:
    """Whether a stated version is in a range; None where none is stated, or it is no version."""
    try:
        return None if version is None else SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidVersion:
        return None


def _unknown(packages: Packages, names: Mapping[str, str]) -> str:
    """The first distribution whose version nobody stated."""
    return next(name for name, versions in names.items() if packages.matches(name, versions) is None)
