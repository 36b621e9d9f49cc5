"""What is known of a command before it runs: its interpreter, its models, its machines; and tiny models made early."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from doctor.base.fact import Context
from doctor.base.record import record
from doctor.monitors.inject.lay import PATIENT
from doctor.readers.collector import Collector
from doctor.rehearse.apart import Apart
from doctor.run.folder import VARIABLE, RunDir

_PROGRAM = ("lib", "doctor", "monitors", "rehearse", "ahead.py")
_MOST = 3
#: facts that only a framework's command has
_CONFIGURED = {"verl_config": "veRL", "trinity_config": "Trinity-RFT"}


@record
class Known:
    """What the facts say of a command.

    Args:
        python: the interpreter that will train; None where it is not known.
        models: names of models that it will load.
        nodes: machines of the launch.
        framework: whose configuration it has, where that is not one of Transformers' trainers.

    """

    python: str | None = None
    models: tuple[str, ...] = ()
    nodes: int = 1
    framework: str = ""


def known_of(argv: Sequence[str]) -> Known:
    """Read the command, its script and its files; what cannot be read is left open."""
    collector = Collector(Context(tuple(argv), Path.cwd(), dict(os.environ), None, False))
    with suppress(Exception):  # a fact less: the model is made when the command asks for it
        collector.ask({"interpreter", "training", "launch", *_CONFIGURED})
    interpreter, training, launch = (_value(collector, each) for each in ("interpreter", "training", "launch"))
    model = getattr(training, "model", None)
    named = [model.value] if model is not None and model.known and isinstance(model.value, str) else []
    named += [each for each in _values(argv) if (Path(each) / "config.json").is_file()]
    framework = next((name for fact, name in _CONFIGURED.items() if _value(collector, fact) is not None), "")
    python = getattr(interpreter, "executable", None)
    return Known(python, tuple(dict.fromkeys(named))[:_MOST], _nodes(launch), framework)


def has_gpu() -> bool:
    """Whether the kernel shows an NVIDIA card that is not hidden; the rehearsal itself asks torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return Path("/proc/driver/nvidia/gpus").is_dir() and visible not in ("", "-1")


def _nodes(launch: Any) -> int:
    """Machines that the launcher's options name; 1 where they name none."""
    options = getattr(launch, "options", {})
    for name in ("num_machines", "nnodes", "num_nodes"):
        setting = options.get(name)
        number = str(setting.value).rpartition(":")[2] if setting is not None and setting.known else ""
        if number.isdecimal() and int(number) > 0:
            return int(number)
    return 1


def _value(collector: Collector, name: str) -> Any:
    state = collector.states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _values(argv: Sequence[str]) -> Iterator[str]:
    """Words of a command, and what stands behind their equals signs."""
    for each in argv:
        yield each.partition("=")[2] if each.startswith("-") and "=" in each else each


@contextmanager
def making_ahead(known: Known, run: RunDir, held: Apart, variables: Mapping[str, str]) -> Iterator[None]:
    """Make tiny models in a process beside the block; it ends with the block at the latest.

    Args:
        known: of the command.
        run: folder of the run, into which everything was carried.
        held: how writes are held.
        variables: environment of the command.

    """
    if known.python is None or not known.models:
        yield
        return
    library = run.path / PATIENT
    words = [known.python, str(library.joinpath(*_PROGRAM)), str(library / "lib"), *known.models]
    hook = str(library / "hook")
    own = {**variables, VARIABLE: str(run.path)}
    own["PYTHONPATH"] = os.pathsep.join(
        each for each in own.get("PYTHONPATH", "").split(os.pathsep) if each and each != hook
    )
    own_layers = held.beside()
    try:
        process = subprocess.Popen(
            own_layers.around(words, Path.cwd()), env=own, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError:
        own_layers.clear()
        yield
        return
    from doctor.rehearse.passes import end_all

    try:
        yield
    finally:
        if process.poll() is None:
            end_all(process.pid)
        process.wait()
        own_layers.clear()
