"""Judges known-defect (PYT1494), whose words stand in the TOML beside it.

What is known stands in `doctor/data/defects.json`: versions, conditions, words. What a condition is says
`doctor.catalogue.shared.said`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.ranges import within
from doctor.base.record import replace
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Message, Role, Skip, found, said
from doctor.catalogue.problem import Severity
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.excerpts import in_excerpt
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.triggers import said_of
from doctor.catalogue.words import words_of
from doctor.data.records import Defect
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
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
#: conditions that are enough to ask about a release that nobody tells
_SEVERAL = 2


@check(PROBLEM)
def known_defect(  # noqa: PLR0917 - all that a condition may ask
    packages: Packages,
    launch: Launch,
    world: World | None,
    training: Training | None,
    verl: VerlConfig | None,
    framework_config: FrameworkConfig | None,
    model: Model | None,
    script: Script | None,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
) -> Judgement:
    """A defect whose versions are installed and whose conditions all hold, as is known; a build may be mended."""
    run = said_of(
        {
            "launch": launch, "world": world, "training": training, "verl": verl, "framework": framework_config,
            "model": model, "script": script, "accelerate": accelerate, "deepspeed": deepspeed,
            "dataset": None, "gpus": None, "environment": None,
        }
    )  # fmt: skip
    loose = replace(run, whole=True)  # what a script computes is seldom one of these options
    for defect in data.defects():
        fits = [packages.matches(name, versions) for name, versions in defect.when.items()]
        if False in fits or (None in fits and packages.complete):
            continue
        if not all((loose if each[1] == "unset" else run).holds(*each) for each in defect.conditions):
            continue
        if None in fits:
            yield Skip(f"the installed version of {_unknown(packages, defect.when)} is not known")
            continue
        settings = tuple(filter(None, (run.setting(key) for key, _, _ in defect.conditions)))
        versions = tuple(Observed.quoted(packages.told_by, f"{name} {packages.version(name)}") for name in defect.when)
        first = next(iter(defect.when))
        yield _found(
            defect, MESSAGE, who=f"{first} {packages.version(first)}", where=place_of(*settings),
            evidence=(*quoted(*settings), *versions),
        )  # fmt: skip


def _found(defect: Defect, message: Message, *, who: str, role: Role = Role.CAUSE, **more: Any) -> Finding:
    """What is known of a defect."""
    return found(
        PROBLEM, message, severity=Severity(defect.severity), confidence=LIKELY, role=role, who=who,
        commands=defect.commands, links=defect.links, what=said(*defect.what), why=said(*defect.why),
        fix=said(*defect.fix), **more,
    )  # fmt: skip


def of_courses(courses: Courses) -> Finding | None:
    """The same of an excerpt: settings and versions as a person quotes them beside what the run printed.

    A defect that no release has mended needs no version; `unset` cannot be known of an excerpt.
    """
    return next((each for fit, each in _in_excerpt(courses) if fit in {_SHOWN, _OPEN}), None)


def of_quoted(courses: Courses) -> Finding | None:
    """A defect of which the excerpt shows nothing, or one that shows and whose release nobody tells."""
    return next((each for _, each in sorted(_in_excerpt(courses), key=lambda each: each[0])), None)


#: how a defect fits an excerpt, the best first: release and symptom are told; a release is not needed; the release is
#: not told; the symptom is not
_SHOWN, _OPEN, _ANY_RELEASE, _NOT_SHOWN = range(4)


def _in_excerpt(courses: Courses) -> Iterator[tuple[int, Finding]]:
    """Each defect whose conditions an excerpt states, and how it fits."""
    if not courses.excerpt:
        return
    run = in_excerpt(courses)
    for defect in data.defects():
        fits = [_fits(courses.versions.get(name), versions) for name, versions in defect.when.items()]
        if False in fits or not all(
            relation != "unset" and run.holds(key, relation, wanted) for key, relation, wanted in defect.conditions
        ):
            continue
        first = next(iter(defect.when))
        who = f"{first} {courses.versions.get(first, '')}".strip()
        shown = not defect.shows or any(re.search(each, courses.words) for each in defect.shows)
        if None not in fits:
            yield (_SHOWN, _found(defect, MESSAGE, who=who)) if shown else (
                _NOT_SHOWN, _found(defect, MESSAGE, who=who, role=Role.CONTRIBUTING)
            )  # fmt: skip
        elif len(defect.conditions) < _SEVERAL:
            continue
        elif defect.open_on is not None and not defect.shows:
            yield _OPEN, _found(defect, MESSAGE, who=who)
        elif shown and defect.shows:
            yield _ANY_RELEASE, _found(defect, TOML["some_releases"], who=first, releases=defect.when[first])


def _fits(version: str | None, specifier: str) -> bool | None:
    """Whether a stated version is in a range; None where none is stated, or it is no version."""
    try:
        return None if version is None else within(version, specifier)
    except ValueError:
        return None


def _unknown(packages: Packages, names: Mapping[str, str]) -> str:
    """The first distribution whose version nobody stated."""
    return next(name for name, versions in names.items() if packages.matches(name, versions) is None)
