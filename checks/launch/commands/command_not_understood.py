"""Judges command-not-understood (LCH001), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, INFO
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
REFUSED = TOML["refused"]
MISSPELT = TOML["misspelt"]
KEYS_ALONE = TOML["keys_alone"]
FETCHED = TOML["fetched"]


#: what the parser says of options, see `doctor.readers.command.argv.Parsed.complaint`
_OF_OPTIONS = (" has no option `", "` lacks its value", "` fits several options of `")


@check(PROBLEM)
def command_not_understood(launch: Launch, framework_config: FrameworkConfig | None) -> Judgement:
    """Say what stopped the parser."""
    if launch.missing or launch.stop or (launch.not_understood is None and launch.kind != "unknown"):
        return  # a file that does not exist is another problem
    if {"--help", "-h", "--version"} & set(launch.argv):
        return  # starts nothing
    reason = launch.not_understood or f"`{launch.program}` is not a launcher that the doctor knows"
    evidence = (Observed.quoted("launch command", shlex.join(launch.argv)),)
    if launch.misspelt and launch.meant:
        words = [launch.meant if word == launch.misspelt else word for word in launch.argv]
        yield found(
            PROBLEM, MISSPELT, severity=ERROR, confidence=LIKELY, word=launch.misspelt, meant=launch.meant,
            commands=(shlex.join(words),), evidence=evidence,
        )  # fmt: skip
        return
    if framework_config is not None and framework_config.framework == "llamafactory" and framework_config.files:
        return  # judged as the training of Transformers that it is
    if framework_config is None and (name := _fetched(launch)):
        yield found(PROBLEM, FETCHED, severity=INFO, name=name, evidence=evidence)
        return
    if framework_config is not None:
        yield found(
            PROBLEM, KEYS_ALONE, severity=INFO, framework=framework_config.framework,
            count=len(framework_config.settings), evidence=evidence,
        )  # fmt: skip
        return
    refused = any(each in reason for each in _OF_OPTIONS)
    yield found(
        PROBLEM,
        REFUSED if refused else MESSAGE,
        confidence=LIKELY if refused else CONFIRMED,
        reason=reason.rstrip("."),
        evidence=evidence,
    )


def _fetched(launch: Launch) -> str | None:
    """The settings that oumi loads from its repository when it starts."""
    return next((each for each in launch.argv if each.lower().startswith("oumi://")), None)
