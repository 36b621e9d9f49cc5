"""What logs and their context say of a patient, as remedies are judged against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.opened import seen_in
from doctor.diagnosis.remedies import Situation
from doctor.diagnosis.situation import capability_of
from doctor.facts.packages import normalised
from doctor.logs.failures.case import Case
from doctor.logs.told.judged import world_in


def situation_of(case: Case) -> Situation:
    """Versions, settings and variables as printed or given; what is not said there is not known."""
    config, world = case.config, world_in(case)
    packages, environment = case.given.facts.get("packages"), world.value("environment")
    return Situation(
        python=case.versions.get("python"),
        versions={normalised(name): version for name, version in case.versions.items() if name != "python"},
        complete=packages is not None and packages.source == "probe" and packages.complete,
        variables={
            **{name: value for name, value in config.items() if name.isupper()},
            **(seen_in(environment)["variables"] if environment is not None else {}),
        },
        settings={
            **{name: value for name, value in config.items() if not name.isupper()},
            **{name: value for fact in world for name, value in _settings(world.value(fact))},
        },
        capability=capability_of(case.given.facts.get("gpus")),
        raised={each.name: each.value for each in case.told if each.owner == "raised"},
        from_logs=True,
    )


def _settings(fact: Any) -> Iterator[tuple[str, Any]]:
    """Settings of a fact, by their names."""
    for members in seen_in(fact).values() if fact is not None else ():
        if isinstance(members, Mapping):
            yield from ((name, each.value) for name, each in members.items() if getattr(each, "known", False))
