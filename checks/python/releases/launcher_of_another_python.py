"""Judges launcher-of-another-python (PYT004), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
import shlex

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.checks.launch.commands.launcher_not_found import AS_MODULE
from doctor.facts.commands import Command, Commands
from doctor.facts.environment import Environment
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LAUNCHED = TOML["launched"]
NOT_JUDGED = TOML["not_judged"]
ON_PATH = TOML["on_path"]


#: launcher -> distribution that must be in the judged interpreter for the comparison to matter
NEEDS = {
    "accelerate": "torch", "torchrun": "torch", "deepspeed": "torch", "trl": "trl", "vllm": "vllm", "swift": "ms-swift",
    "megatron": "ms-swift",    "ray": "ray",
}  # fmt: skip

_VERSION = later(r"python(\d+\.\d+)t?$")


def _same(one: str, other: str) -> bool:
    """Whether two paths name one interpreter: one folder, and no other version in the name."""
    folders = [re.sub(r"^/bin$", "/usr/bin", path.rpartition("/")[0]) for path in (one, other)]
    versions = {match[1] for path in (one, other) if (match := _VERSION.search(path))}
    return folders[0] == folders[1] and len(versions) <= 1


def _resolved(path: str, commands: Commands) -> str:
    """The path without links in its folder, where a command of PATH starts it: a home that is a link has two names."""
    folders = (each.folder for each in commands.found.values() if each.interpreter == path and each.folder)
    folder = next(folders, None)
    return path if folder is None else f"{folder}/{path.rpartition('/')[2]}"


def _one(one: str, other: str, commands: Commands) -> bool:
    """Whether two paths name one interpreter, as typed or without links."""
    return _same(one, other) or _same(_resolved(one, commands), _resolved(other, commands))


@check(PROBLEM)
def launched(
    launch: Launch, commands: Commands, interpreter: Interpreter, environment: Environment, packages: Packages
) -> Judgement:
    """The launcher of the command against `python`: that is the one whose packages the user looks at."""
    launcher = commands.found.get(launch.program)
    python = commands.found.get("python") or commands.found.get("python3")
    if launch.program not in NEEDS or launcher is None or launcher.interpreter is None:
        return
    if python is None or python.interpreter is None:
        return
    if _one(launcher.interpreter, python.interpreter, commands):
        return
    if not _one(launcher.interpreter, interpreter.executable, commands):  # --python, PYTHON_EXEC: another one was meant
        return
    active = [environment.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    if any(prefix and launcher.interpreter.startswith(f"{prefix}/") for prefix in active):
        return
    lacking = packages.complete and NEEDS[launch.program] not in packages.distributions
    yield found(
        PROBLEM,
        LAUNCHED,
        severity=ERROR if lacking else WARNING,
        confidence=LIKELY,
        commands=_module(launch.program, python.interpreter),
        evidence=_evidence(launcher),
        foremost=True,
        launcher=launch.program,
        other=launcher.interpreter,
        python=python.interpreter,
    )


@check(PROBLEM)
def named_by_option(launch: Launch, interpreter: Interpreter) -> Judgement:
    """The interpreter of `--python` against the one that the command starts."""
    starts = interpreter.command_starts
    if starts is None or _same(starts, interpreter.executable):
        return
    yield found(
        PROBLEM,
        NOT_JUDGED,
        severity=ERROR,
        commands=_module(launch.program, interpreter.executable),
        evidence=(Observed.quoted("launch command", f"{launch.program}: {starts}"),),
        foremost=True,
        other=starts,
        python=interpreter.executable,
    )


@check(PROBLEM)
def on_path(launch: Launch | None, commands: Commands, interpreter: Interpreter, packages: Packages) -> Judgement:
    """Without a command: every launcher that would leave the judged interpreter."""
    if launch is not None:
        return
    for name, needs in NEEDS.items():
        launcher = commands.found.get(name)
        if launcher is None or launcher.interpreter is None or needs not in packages.distributions:
            continue
        if _one(launcher.interpreter, interpreter.executable, commands):
            continue
        yield found(
            PROBLEM,
            ON_PATH,
            confidence=LIKELY,
            commands=_module(name, interpreter.executable),
            evidence=_evidence(launcher),
            launcher=name,
            other=launcher.interpreter,
            python=interpreter.executable,
        )


def _module(name: str, python: str) -> tuple[str, ...]:
    """Return the launcher as a module of an interpreter, where it is one."""
    options = AS_MODULE.get("accelerate launch" if name == "accelerate" else name)
    return (shlex.join([python, *options]),) if options else ()


def _evidence(launcher: Command) -> tuple[Observed, ...]:
    return (Observed.quoted(launcher.path, f"#!{launcher.interpreter}", 1),)
