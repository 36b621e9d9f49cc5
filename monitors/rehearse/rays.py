"""Ray in a rehearsal: a cluster of its own on this machine, whose workers carry the hook; the user's is never joined.

`ray.init` joins, in this order, the cluster that RAY_ADDRESS names, the address that it is given, and the last one that
`ray start` left on the machine (https://docs.ray.io/en/latest/ray-core/starting-ray.html); "local" always starts one of
its own (https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html). Variables of `runtime_env` replace those that a
worker inherits: https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.names import library
from doctor.monitors.rehearse.settings import VARIABLE

#: how `ray.init` is told to start a cluster of its own
LOCAL = "local"
#: of the hook, which every worker must have
_CARRIED = (VARIABLE, "DOCTOR_RUN_DIR")


def clusters(module: Any) -> None:
    """Have every `ray.init` start a cluster of its own."""
    original = module.init

    @functools.wraps(original)
    def init(address: Any = None, *args: Any, **kwargs: Any) -> Any:
        _other_cluster(address)
        made = carried(kwargs.get("runtime_env"))
        if made is not None:
            kwargs["runtime_env"] = made
        return original(LOCAL, *args, **kwargs)

    module.init = init


@journal.shielded
def _other_cluster(address: Any) -> None:
    if address not in (None, LOCAL):
        journal.left_out("ray", "own_cluster", address=str(address))


@journal.shielded
def carried(runtime_env: Any) -> Any:
    """The environment of workers with the hook in it, also where it sets a PYTHONPATH of its own."""
    if runtime_env is not None and not isinstance(runtime_env, Mapping):
        return runtime_env
    made = dict(runtime_env or {})
    variables = dict(made.get("env_vars") or {})
    hook = str(Path(library()).with_name("hook"))
    path = str(variables.get("PYTHONPATH") or os.environ.get("PYTHONPATH", ""))
    others = [each for each in path.split(os.pathsep) if each and each != hook]
    variables["PYTHONPATH"] = os.pathsep.join([hook, *others])
    variables.update({name: os.environ[name] for name in _CARRIED if name in os.environ})
    made["env_vars"] = variables
    return made


def programs(module: Any) -> None:
    """Have `ray start`, `ray stop` and what else changes clusters do nothing: they may be the user's running ones."""
    for name in ("start", "stop", "up", "down"):
        command: Any = getattr(module, name, None)
        if callable(getattr(command, "callback", None)):
            command.callback = _refused(name, command.callback)


def _refused(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def refused(*_: Any, **__: Any) -> None:
        journal.left_out("ray", "own_cluster", address=f"ray {name}")

    return refused


def jobs(module: Any) -> None:
    """Have a job that is submitted to a cluster run here, in the place of `ray job submit`."""
    for name in ("submit", "stop", "delete"):
        command: Any = getattr(module, name, None)
        if callable(getattr(command, "callback", None)):
            command.callback = (
                _here(command.callback) if name == "submit" else _refused(f"job {name}", command.callback)
            )


def _here(original: Any) -> Any:
    @functools.wraps(original)
    def run_here(*_: Any, **kwargs: Any) -> NoReturn:
        journal.left_out("ray", "own_cluster", address=str(kwargs.get("address") or "ray job submit"))
        words = [str(each) for each in kwargs["entrypoint"]]
        os.execvp(words[0], words)  # noqa: S606 - the user's own command

    return run_here
