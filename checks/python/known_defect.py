"""Judges known-defect (PYT1494), whose words stand in the TOML beside it.

What is known stands in `doctor/data/defects.json`: versions, conditions, words. A condition is a key, a relation and a
value: `world.*` of the processes, `model.name`, `lora.*`, `script.imports`, `framework`, else a setting, wherever the
command, its files or its script say it. Relations: `=`, `>`, `~` (a pattern), `has` (a list holds it), `unset` (nobody
said it). A value may itself be a key of `world.`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Skip, found, said
from doctor.catalogue.problem import Severity
from doctor.catalogue.settings import number, place_of, truth
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


class Said:
    """All that is said of a run, by key."""

    def __init__(self, settings: Mapping[str, Observed], others: Mapping[str, object]) -> None:
        self.settings, self.others = settings, others

    def setting(self, key: str) -> Observed | None:
        """The setting of a key, in full or, where it has no dot, by its last part."""
        if key in self.settings:
            return self.settings[key]
        ends = (each for name, each in self.settings.items() if name.rpartition(".")[2] == key)
        return None if "." in key else next(ends, None)

    def holds(self, key: str, relation: str, wanted: object) -> bool:
        """Whether a condition is known to hold."""
        if isinstance(wanted, str) and wanted.startswith("world."):
            wanted = self.others.get(wanted)
        if relation == "unset":
            return self.setting(key) is None
        if key in self.others:
            return _compared(self.others[key], relation, wanted)
        setting = self.setting(key)
        return setting is not None and setting.known and _compared(setting.value, relation, wanted)


def _compared(value: object, relation: str, wanted: object) -> bool:
    if value is None or wanted is None:
        return False
    if relation == "~":
        return re.search(str(wanted), str(value)) is not None
    if relation == "has" or isinstance(value, (list, tuple, frozenset)):
        return isinstance(value, (list, tuple, frozenset)) and wanted in value
    if relation == ">":
        left, right = number(value), number(wanted)
        return left is not None and right is not None and left > right
    if isinstance(wanted, bool):
        return truth(value) is wanted
    return str(value) == str(wanted) or (number(value) is not None and number(value) == number(wanted))


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
        _settings(launch, training, verl, framework_config),
        _others(world, training, framework_config, model, script),
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


def _settings(
    launch: Launch, training: Training | None, verl: VerlConfig | None, framework: FrameworkConfig | None
) -> dict[str, Observed]:
    """Every setting by its name; what is nearer to the command line counts."""
    found_settings: dict[str, Observed] = dict(_options(launch))
    for settings in (
        framework.settings if framework is not None else {},
        verl.base if verl is not None else {},
        verl.overrides if verl is not None else {},
        training.arguments if training is not None else {},
        launch.arguments,
    ):
        found_settings.update(settings)
    return found_settings


def _options(launch: Launch) -> dict[str, Observed]:
    """`--name value` and `--name` of a program that the doctor does not know."""
    words = launch.argv
    options: dict[str, Observed] = {}
    for word, following in zip(words, (*words[1:], "--"), strict=True):
        if word.startswith("--") and len(word) > 2:
            name, equals, text = word[2:].partition("=")
            value = text if equals else "true" if following.startswith("-") else following
            options[name.replace("-", "_")] = Observed.written(name.replace("-", "_"), value, True, value)
    return options


def _others(
    world: World | None,
    training: Training | None,
    framework: FrameworkConfig | None,
    model: Model | None,
    script: Script | None,
) -> dict[str, object]:
    named = (
        training.model.value if training is not None and training.model is not None and training.model.known else None
    )
    lora = training.lora if training is not None and training.lora is not None else {}
    return {
        "world.machines": world.machines if world is not None else None,
        "world.processes": world.processes if world is not None else None,
        "world.zero_stage": world.zero_stage if world is not None else None,
        "world.backend": world.backend if world is not None else None,
        "model.name": model.name if model is not None else named,
        "model.hidden_size": model.hidden_size if model is not None else None,
        "framework": framework.framework if framework is not None else None,
        "script.imports": tuple({each.partition(".")[0] for each in script.imports}) if script is not None else (),
        **{f"lora.{name}": each.value for name, each in lora.items() if each.known},
    }
