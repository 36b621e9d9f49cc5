"""The launchers that PATH gives, and the interpreter each of them would start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from doctor.core.record import record
from doctor.facts import _programs
from doctor.facts.base import Context, fact
from doctor.facts.launch import Launch

NAMES = (
    "accelerate", "torchrun", "deepspeed", "trl", "vllm", "ray", "trinity", "python", "python3", "pip", "uv", "ninja",
    "ds_report", "huggingface-cli", "hf", "pdsh",
)  # fmt: skip


@record
class Command:
    """A console script: its path and the interpreter of its first line (None for a binary or an `env` that fails).

    `problem` says why the interpreter cannot be told: a shim, an `env` that finds nothing, or a path that is gone.
    """

    name: str
    path: str
    interpreter: str | None = None
    problem: str | None = None


@record
class Commands:
    """`accelerate`, `torchrun`, `vllm`, `python` and the other names of `NAMES`, as PATH resolves them."""

    found: Mapping[str, Command] = field(default_factory=dict)


@fact()
def collect(context: Context, launch: Launch | None) -> Commands:
    """Look the launchers up where the launch command would, with its own PATH and `uv run` or `conda run`."""
    environ = _programs.launched_environ(context, launch)
    lookup = _programs.Lookup(environ, context.cwd)
    if launch is not None:
        folders, _ = _programs.runner_folders(_programs.before_program(launch.argv, launch.program), lookup)
        lookup = _programs.Lookup(environ, context.cwd, folders)
    found = {}
    for name in NAMES:
        program = lookup.program(name)
        if program is not None:
            gone = program.interpreter is not None and not Path(program.interpreter).exists()
            problem = f"`{program.interpreter}` does not exist" if gone else program.problem
            found[name] = Command(name, program.path, program.interpreter, problem)
    return Commands(found)
