"""Judges script-input-absent (TRL066), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases


@check(PROBLEM)
def script_input_absent(launch: Launch, training: Training, packages: Packages, choices: Choices | None) -> Judgement:
    """`trl grpo` and its kin without a dataset; a configuration that could not be read proves nothing."""
    if launch.kind != "trl":
        return
    setting = launch.arguments.get("reward_funcs")
    known = choices.of("trl.reward_funcs_registry") if choices is not None and launch.subcommand == "grpo" else ()
    for name in setting.value if setting is not None and isinstance(setting.value, list) and known else ():
        if name not in known and "." not in name and "$" not in name:
            yield found(PROBLEM, CASES[1][1], evidence=quoted(setting), name=name)
    if not training.complete or training.broken is not None or training.dataset is not None:
        return
    if packages.matches("trl", ">=0.19") and not {"help", "h", "datasets"} & set(launch.arguments):
        yield found(PROBLEM, CASES[0][1], evidence=(Observed.quoted("launch command", " ".join(launch.argv)),))


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for."""
    first = hits.first
    values: dict[str, Any] = dict(first.groups)
    if "keys" in values:
        values["keys"] = values["keys"].strip("[]").replace("'", "`")
    return found(PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(), **values)
