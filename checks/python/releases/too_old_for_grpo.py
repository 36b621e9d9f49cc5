"""Judges python-too-old-for-grpo (PYT001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.requirements import python_allowed, wants_grpo
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
WITHOUT_TRL = TOML["without_trl"]


def _python_of(version: str | None) -> str | None:
    release = data.trl_release(version) if version else None
    return release.requires_python if release else None


def _meant_for_trl(interpreter: Interpreter, packages: Packages, launch: Launch | None) -> bool:
    """Whether somebody asks about this interpreter by name, before anything is installed that trains otherwise."""
    others = ("verl", "openrlhf", "trinity-rft", "vllm")
    named = interpreter.chosen_because == "--python" and launch is None
    return named and not any(packages.version(each) for each in others)


@check(PROBLEM)
def too_old_for_grpo(
    interpreter: Interpreter,
    packages: Packages,
    launch: Launch | None,
    script: Script | None,
    training: Training | None,
) -> Judgement:
    """Silent when the command certainly does something else than GRPO."""
    wanted, installed = wants_grpo(launch, script, training), packages.version("trl")
    if wanted is False:
        return
    if installed is None and wanted is not True and not _meant_for_trl(interpreter, packages, launch):
        return
    first, newest = data.trl_first_with_grpo(), data.newest("trl")
    if python_allowed(_python_of(first), interpreter.version) is not False:
        return
    if installed is not None and packages.matches("trl", f">={first}"):
        return
    yield found(
        PROBLEM,
        MESSAGE if installed else WITHOUT_TRL,
        commands=("uv venv --python 3.12", "conda create -n grpo python=3.12"),
        evidence=(
            Observed.quoted(
                interpreter.executable, f"Python {interpreter.version}, chosen: {interpreter.chosen_because}"
            ),
            Observed.quoted(f"metadata of trl {first}", f"Requires-Python: {_python_of(first)}"),
        ),
        python=interpreter.version,
        installed=installed,
        first=first,
        needs=_python_of(first),
        newest=newest,
        newest_needs=_python_of(newest),
    )
