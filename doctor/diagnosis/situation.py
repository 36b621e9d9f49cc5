"""What the facts say of a patient, as remedies are judged against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.diagnosis.remedies import Situation

#: facts whose settings are read out of the user's files and command, the last word first
_WRITTEN = ("launch", "training", "deepspeed_config", "accelerate_config", "trinity_config", "verl_config", "serving")


def situation_of(states: Mapping[str, Observed]) -> Situation:
    """What facts of one machine and its launch command tell; a fact that could not be seen tells nothing."""
    facts = {name: each.value for name, each in states.items() if each.status == "ok"}
    packages, training, environment = (facts.get(name) for name in ("packages", "training", "environment"))
    python, launch = facts.get("interpreter"), facts.get("launch")
    script = dict(training.environment_set) if training is not None else {}
    variables = dict(environment.variables) if environment is not None else {}
    variables |= {name: str(each.value) for name, each in script.items() if each.known}  # the script has the last word
    return Situation(
        python=python.version if python is not None else None,
        versions=_versions(packages),
        complete=packages is not None and packages.complete,
        variables=variables,
        all_variables=environment is not None and not script,
        settings=_settings(facts),
        capability=capability_of(facts.get("gpus")),
        config_class=training.config_class if training is not None else None,
        serves=launch is not None and launch.serves,
        executable=python.executable if python is not None else None,
        server_options=_server_options(launch),
        server_variables=launch.environment if launch is not None and launch.serves else {},
    )


def _server_options(launch: Any) -> dict[str, str | None]:
    """The options of a server's command but its model; of a switch no value."""
    if launch is None or not launch.serves:
        return {}
    options = {name: each for name, each in launch.arguments.items() if name not in {"model", "model_tag"}}
    return {name: None if each.value is True else each.text for name, each in options.items()}


def _versions(packages: Any) -> dict[str, str]:
    """Versions of what is there; of broken metadata an empty one, for the package is there."""
    return {} if packages is None else {name: each.version or "" for name, each in packages.distributions.items()}


def capability_of(gpus: Any) -> tuple[int, int] | None:
    """The greatest compute capability of some cards, None where one is not known."""
    found = [each.compute_capability for each in gpus.gpus] if gpus is not None else []
    return max(found) if found and None not in found else None


def _settings(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting whose value is known; of a name with several values none."""
    found: dict[str, Any] = {}
    doubtful: set[str] = set()
    for each in _written(facts):
        if each.known and found.setdefault(each.name, each.value) != each.value:
            doubtful.add(each.name)
    return {name: value for name, value in found.items() if name not in doubtful}


def _written(facts: Mapping[str, Any]) -> Iterable[Observed]:
    for name in _WRITTEN:
        fact = facts.get(name)
        for section in ("arguments", "options", "overrides", "settings", "nested", "lora"):
            yield from (getattr(fact, section, None) or {}).values()
