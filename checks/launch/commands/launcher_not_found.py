"""Judges launcher-not-found (LCH002), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.commands import Commands
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: launcher -> options of an interpreter that do the same; `-m trl.cli` would do in TRL 0.17, where it is a module, and
#: no longer in 1.16, where it is a package
AS_MODULE: Mapping[str, tuple[str, str]] = {
    "accelerate launch": ("-m", "accelerate.commands.launch"),
    "accelerate": ("-m", "accelerate.commands.accelerate_cli"),
    "torchrun": ("-m", "torch.distributed.run"),
    "deepspeed": ("-m", "deepspeed.launcher.runner"),
    "trl": ("-c", "from trl.cli import main; main()"),
    "vllm": ("-m", "vllm.entrypoints.cli.main"),
    "swift": ("-m", "swift.cli.main"),
    "megatron": ("-m", "swift.cli._megatron.main"),
    "llamafactory-cli": ("-m", "llamafactory.cli"),
    "lmf": ("-m", "llamafactory.cli"),
    "axolotl": ("-m", "axolotl.cli.main"),
    "oumi": ("-m", "oumi"),
}
LOOKED_UP = {*AS_MODULE, "ray", "trinity", "python", "python3"}


@check(PROBLEM)
def launcher_not_found(launch: Launch, commands: Commands, interpreter: Interpreter | None) -> Judgement:
    """Compare the program with what PATH gives; a path is the user's own business."""
    program = launch.program
    if launch.image is not None:
        return  # PATH of the image is not this machine's
    if program not in LOOKED_UP or program in commands.found or program not in launch.argv:
        return  # `python -m` of its module looks nothing up
    named = interpreter is not None and interpreter.chosen_because == "--python"
    command = _as_module(launch, interpreter.executable if interpreter and named else "python")
    yield found(
        PROBLEM,
        MESSAGE,
        program=program,
        commands=(command,) if command else (),
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
    )


def _as_module(launch: Launch, python: str) -> str:
    """The whole command with the launcher as a module of an interpreter; empty where it is none."""
    at = launch.argv.index(launch.program)
    words = 2 if launch.argv[at : at + 2] == ("accelerate", "launch") else 1
    options = AS_MODULE.get(" ".join(launch.argv[at : at + words]))
    return _typed([*launch.argv[:at], python, *options, *launch.argv[at + words :]]) if options else ""


def _typed(words: Iterable[str]) -> str:
    """Words as a shell wants them; of `NAME=value` only the value is quoted."""
    parts = (re.match(r"([A-Za-z_]\w*=)?(.*)", word, re.DOTALL) for word in words)
    return " ".join(f"{part[1] or ''}{shlex.quote(part[2]) if part[2] else ''}" for part in parts if part)


#: who starts programs; another file of that name may be missing as well
_STARTS = later(r"subprocess\.py:|[\\/]os\.py:|frozen os>?:|multiprocessing[\\/]|asyncio[\\/]")


def explain(hits: Hits) -> Finding | None:
    """A name that nobody started as a program is a file or folder."""
    said = [hit for hit in hits if not hit.frames or any(_STARTS.search(frame) for frame in hit.frames)]
    if not said:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), program=said[0].groups.get("program")
    )
