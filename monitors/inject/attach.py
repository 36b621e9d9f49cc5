"""Puts the guard into a training process as its libraries are imported; called by the start-up hook."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from doctor.run.folder import Events, RunDir

#: programs that only start others, and those that serve or install
_NO_TRAINERS = frozenset(
    {"accelerate", "torchrun", "deepspeed", "ray", "pip", "pip3", "uv", "vllm", "jupyter", "pytest", "wandb"}
)
_NO_TRAINER_MODULES = ("accelerate.commands.", "torch.distributed.", "deepspeed.launcher.", "vllm.", "pip.")

#: modules with drivers of Ray trainers -> (module of the witness, function) that is given it
_DRIVERS = {
    "verl.trainer.ppo.ray_trainer": ("verl", "drivers"),
    "verl.trainer.ppo.v1.trainer_base": ("verl", "drivers_v1"),
    "openrlhf.trainer.ppo_utils.experience_maker": ("openrlhf", "makers"),
    "openrlhf.trainer.ppo_utils.samples_generator": ("openrlhf", "generators"),
    "openrlhf.trainer.ppo_trainer": ("openrlhf", "drivers"),
}

#: modules with runners of engines -> (class, method that loads its model, method with which it computes)
_RUNNERS = {
    "vllm.v1.worker.gpu_model_runner": ("GPUModelRunner", "load_model", "execute_model"),
    "vllm.v1.worker.cpu_model_runner": ("CPUModelRunner", "load_model", "execute_model"),
    "sglang.srt.model_executor.model_runner": ("ModelRunner", "load_model", "forward"),
}

#: every process that imports torch imports it: nothing else is prepared for its sake
_OPTIMIZERS = "torch.optim.optimizer"


def attach(name: str, module: ModuleType) -> None:
    """Prepare this process, and have the guard added where a trainer or an engine is made.

    Args:
        name: of the awaited module that was just imported.
        module: the module.

    """
    if name == _OPTIMIZERS:
        _to_loops(module)
        return
    if name in _RUNNERS:
        _to_runner(name, module)
        return
    if _may_train():
        _prepare()
    if name == "transformers.trainer":
        _to_trainers(module)
    elif name in _DRIVERS:
        _to_driver(name, module)
    else:
        _to_engines(module)


def _may_train() -> bool:
    """Whether this may be a training process: a rank, or a program that is no launcher, server or worker of another."""
    workers: Any = sys.modules.get("multiprocessing.process")
    if workers is not None:
        current = workers.current_process()
        if getattr(current, "_inheriting", False) or workers.parent_process() is not None:
            return False
    if os.environ.get("RANK", "").isdecimal():
        return True
    module = _module_run()
    if module:
        return not f"{module}.".startswith(_NO_TRAINER_MODULES)
    return Path(sys.argv[0]).name not in _NO_TRAINERS if getattr(sys, "argv", None) else True


def _module_run() -> str:
    """The module that `python -m` runs, "" for a script; known before the packages around it are imported."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return str(spec.name)
    if getattr(sys, "argv", None) and sys.argv[0] == "-m":
        words = getattr(sys, "orig_argv", None) or _command_line()
        return str(words[words.index("-m") + 1]) if "-m" in words[:-1] else ""
    return ""


def _command_line() -> list[str]:
    """Words of this process's command on Linux; Python 3.9 does not keep them."""
    try:
        return Path("/proc/self/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []


def _prepare() -> None:
    run = RunDir.of_environment()
    if run is None:
        return
    from doctor.monitors.guard import exceptions, flight

    exceptions.watch()
    flight.prepare(run)


class Attached:
    """What stands among the default callbacks of the trainers: made there, it turns into the guard's callback."""

    #: how many were made in this process
    made: ClassVar[int] = 0

    def __new__(cls) -> Any:
        """The guard's callback, or one that does nothing where the guard cannot be made."""
        cls.made += 1
        try:
            from doctor.monitors.guard.transformers import DoctorCallback

            made = DoctorCallback()
        except Exception:  # noqa: BLE001 - whatever it is, the trainer is made
            _tell("failed", error=traceback.format_exc()[-2000:])
            callbacks: Any = sys.modules["transformers.trainer_callback"]
            return callbacks.TrainerCallback()
        _tell("attached", to="transformers.Trainer")
        return made


def _to_trainers(module: Any) -> None:
    """Add to the callbacks that every trainer begins with, and to each trainer that was made without them.

    A library may put a list of its own in the place of that one, as ms-swift does:
    https://github.com/modelscope/ms-swift/blob/main/swift/trainers/patcher.py
    """
    defaults = getattr(module, "DEFAULT_CALLBACKS", None)
    if isinstance(defaults, list):
        defaults.append(Attached)
    owner: Any = getattr(module, "Trainer", None)
    if owner is None:
        return
    original = owner.__init__

    @functools.wraps(original)
    def begin_and_add(self: Any, *args: Any, **kwargs: Any) -> None:
        before = Attached.made
        original(self, *args, **kwargs)
        if Attached.made == before:
            _add(self)

    owner.__init__ = begin_and_add


def _add(trainer: Any) -> None:
    try:
        trainer.add_callback(Attached)
    except Exception:  # noqa: BLE001 - whatever it is, the trainer is made
        _tell("failed", error=traceback.format_exc()[-2000:])


def _to_engines(module: Any) -> None:
    """Watch engines that are made by hand; those of a trainer are the callback's."""
    original = getattr(module, "initialize", None)
    if original is None:
        return

    @functools.wraps(original)
    def initialize_and_watch(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        _watch(made)
        return made

    module.initialize = initialize_and_watch


def _watch(made: Any) -> None:
    try:
        if _by_trainer():
            return
        from doctor.monitors.guard.watch import watch

        watch(made[0])
        _tell("attached", to="deepspeed.initialize")
    except Exception:  # noqa: BLE001 - whatever it is, the engine is made
        _tell("failed", error=traceback.format_exc()[-2000:])


def _to_loops(module: Any) -> None:
    """Take the inventory of a loop that neither a trainer nor an engine drives."""
    if _may_train():
        from doctor.monitors.guard import unwatched

        unwatched.attach(module)


def _to_driver(name: str, module: Any) -> None:
    """Have the witness look on in the process that drives workers of Ray."""
    package, function = _DRIVERS[name]
    try:
        getattr(importlib.import_module(f"doctor.monitors.witness.{package}"), function)(module)
    except Exception:  # noqa: BLE001 - whatever it is, the driver goes on
        _tell("failed", error=traceback.format_exc()[-2000:])


def _to_runner(name: str, module: Any) -> None:
    """Have the witness look on in the process of an engine that is sent weights."""
    try:
        from doctor.monitors.witness import received

        received.runners(module, *_RUNNERS[name])
    except Exception:  # noqa: BLE001 - whatever it is, the engine goes on
        _tell("failed", error=traceback.format_exc()[-2000:])


def _by_trainer() -> bool:
    """Whether the engine is being made for a trainer, which has the guard's callback: its frame is below ours.

    Told by the code that runs. The variables of a running frame are not read: until Python 3.13 that leaves a second
    reference to each of them in the frame, and a model that the program deletes would stay in memory.
    https://peps.python.org/pep-0667/
    """
    trainer: Any = getattr(sys.modules.get("transformers.trainer"), "Trainer", None)
    if trainer is None:
        return False
    codes = set(_codes(trainer))
    frame: Any = sys._getframe(1)  # noqa: SLF001 - documented
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


def _codes(owner: Any) -> Iterator[Any]:
    """The code of all methods of a class, of what it is derived from and of what is derived from it."""
    todo, seen = [owner], {object}
    while todo:
        each = todo.pop()
        seen.add(each)
        for held in list(vars(each).values()):
            function = inspect.unwrap(held) if inspect.isfunction(held) else held
            if inspect.isfunction(function):
                yield function.__code__
        derived = type.__subclasses__(each)
        todo += [one for one in (*derived, *each.__mro__) if one not in seen]


def _tell(state: str, **data: Any) -> None:
    """An event for the launcher, which says at the end whether the guard was there."""
    with suppress(Exception):
        run = RunDir.of_environment()
        if run is not None:
            events = Events(run)
            events.write("monitor", guard=state, **data)
        events.close()
