"""Collects the fact `commands`."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.base.fact import Context, Unavailable, fact
from doctor.facts.commands import NAMES, Command, Commands
from doctor.facts.launch import Launch
from doctor.readers.command import programs


@fact()
def collect(context: Context, launch: Launch | None) -> Commands:
    """Look the launchers up where the launch command would, with its own PATH and `uv run` or `conda run`.

    Raises:
        Unavailable: the environment that these start is not there to be looked into.

    """
    environ = programs.launched_environ(context, launch)
    lookup = programs.Lookup(environ, context.cwd)
    if launch is not None:
        folders, problem = programs.runner_folders(programs.before_program(launch.argv, launch.program), lookup)
        if problem:
            raise Unavailable(problem)
        lookup = programs.Lookup(environ, context.cwd, folders)
    found = {}
    for name in NAMES:
        program = lookup.program(name)
        if program is not None:
            gone = program.interpreter is not None and not Path(program.interpreter).exists()
            problem = f"`{program.interpreter}` does not exist" if gone else program.problem
            found[name] = Command(name, program.path, program.interpreter, problem, _folder(program.interpreter))
    return Commands(found)


def _folder(interpreter: str | None) -> str | None:
    """The folder of an interpreter without links; the interpreter of an environment is itself a link, and stays one."""
    return None if interpreter is None else os.path.realpath(Path(interpreter).parent)
