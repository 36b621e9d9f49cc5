"""Arguments of the training: first the original judges the user's own values, then cadence and size are a rehearsal's.

Every class of arguments finishes in `__post_init__`, which calls its parents': what is changed here is changed after
the last of them has seen what the user wrote. Paths alone are changed before that, for parents make folders.
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/training_args.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from doctor.monitors.rehearse import journal, kernels, server
from doctor.monitors.rehearse.kernels import has_gpu
from doctor.monitors.rehearse.settings import settings

#: tokens that a completion has at most
COMPLETION = 24
#: names of the same limit, by trainer
_LENGTHS = ("max_completion_length", "max_new_tokens", "response_length")
#: samples of one optimizer step on one process, above which accumulation is shortened
_SAMPLES = 32


class _Depth:
    of: ClassVar[dict[int, int]] = {}


def attach(module: Any) -> None:
    """Stand around `__post_init__` of `TrainingArguments` and of every class that derives from it."""
    owner = module.TrainingArguments
    _wrap(owner)
    original = owner.__init_subclass__

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        original(**kwargs)
        _derived(cls)

    owner.__init_subclass__ = classmethod(init_subclass)


@journal.shielded
def _derived(cls: Any) -> None:
    if "__post_init__" in cls.__dict__:
        _wrap(cls)


def _wrap(owner: Any) -> None:
    original = owner.__dict__["__post_init__"]

    @functools.wraps(original)
    def post_init(self: Any, *args: Any, **kwargs: Any) -> Any:
        outermost = id(self) not in _Depth.of
        if not outermost:
            return original(self, *args, **kwargs)
        _Depth.of[id(self)] = 1
        try:
            with journal.phase("configuration"):
                before(self)
                result = original(self, *args, **kwargs)
            after(self)
            return result
        finally:
            _Depth.of.pop(id(self), None)

    owner.__post_init__ = post_init


@journal.shielded
def before(args: Any) -> None:
    """Folders where no overlay holds what is written, and what only a GPU can do on a machine that has none."""
    if not settings().held:
        _own_folders(args)
    if not has_gpu() and hasattr(args, "use_cpu") and not args.use_cpu and not getattr(args, "no_cuda", False):
        args.use_cpu = True
        journal.left_out("gpu", "no_gpu")
        if getattr(args, "tf32", None):
            args.tf32 = None


def _own_folders(args: Any) -> None:
    """Lead folders that the trainer writes into below the rehearsal's own."""
    for name in ("output_dir", "logging_dir"):
        value = getattr(args, name, None)
        if isinstance(value, str) and value:
            _set(args, name, own_path(value))
            if name == "output_dir" and args.output_dir != value:
                args._doctor_output_dir = value  # noqa: SLF001 - ours
    if getattr(args, "output_dir", "") is None:
        args.output_dir = own_path("trainer_output")


def own_path(path: str) -> str:
    """The place of a folder of the user's below the rehearsal's own; the same in every process and pass."""
    resolved = Path(os.path.abspath(os.path.expanduser(path)))
    root = settings().root
    if root in resolved.parents:
        return path
    stem = hashlib.sha256(str(resolved).encode()).hexdigest()[:8]
    return str(root / "out" / f"{resolved.name}-{stem}")


@journal.shielded
def after(args: Any) -> None:
    """Cadence and size of a rehearsal."""
    _cadence(args)
    if settings().null:
        _set(args, "learning_rate", 0.0)
    if settings().tiny:
        _shorten(args)
    elif hasattr(type(getattr(args, "save_strategy", None)), "NO"):  # a checkpoint would be of the real size
        args.save_strategy = type(args.save_strategy).NO
    _engine(args)
    kernels.training(args)
    _deepspeed(getattr(getattr(args, "hf_deepspeed_config", None), "config", None))
    if getattr(args, "push_to_hub", False):
        journal.left_out("hub", "uploads")
        args.push_to_hub = False
    if getattr(args, "torch_compile", False) and not has_gpu():
        journal.left_out("compile", "compile")
        args.torch_compile = False


def _set(args: Any, name: str, value: Any) -> None:
    if hasattr(args, name) and getattr(args, name) != value:
        journal.once("argument", name, name=name, before=str(getattr(args, name)), after=str(value))
        setattr(args, name, value)


def _cadence(args: Any) -> None:
    """Log every step; saving and evaluation come by a callback at the end, where the run has them."""
    strategy: Any = type(getattr(args, "logging_strategy", ""))
    if hasattr(strategy, "STEPS"):
        args.logging_strategy = strategy.STEPS
    args.logging_steps = 1
    if hasattr(args, "skip_memory_metrics"):
        args.skip_memory_metrics = True
    if hasattr(args, "disable_tqdm"):
        args.disable_tqdm = True


def _shorten(args: Any) -> None:
    """Completions of a few tokens; accumulation over a few micro-batches, with the divisibility that was asked for."""
    for name in _LENGTHS:
        value = getattr(args, name, None)
        if isinstance(value, int) and value > COMPLETION:
            _set(args, name, COMPLETION)
    accumulation = getattr(args, "gradient_accumulation_steps", 1)
    batch = getattr(args, "per_device_train_batch_size", 1)
    if not isinstance(accumulation, int) or accumulation <= 2 or accumulation * batch <= _SAMPLES:
        return
    wanted = max(2, _SAMPLES // max(1, batch))
    generations, world = getattr(args, "num_generations", None), max(1, getattr(args, "world_size", 1) or 1)
    per_step = getattr(args, "steps_per_generation", None)
    if isinstance(generations, int) and generations > 1 and isinstance(per_step, int):
        if per_step != accumulation:  # generations are cut otherwise than steps: their relation is the user's
            return
        while wanted < accumulation and wanted * batch * world % generations:
            wanted += 1
        if wanted >= accumulation:
            return
        args.steps_per_generation = wanted
        if isinstance(getattr(args, "generation_batch_size", None), int):
            args.generation_batch_size = batch * world * wanted
    _set(args, "gradient_accumulation_steps", wanted)


def _engine(args: Any) -> None:
    """Where vLLM cannot run, generation goes through Transformers; a running server is never asked."""
    if not getattr(args, "use_vllm", False):
        return
    mode = str(getattr(args, "vllm_mode", "server" if hasattr(args, "vllm_server_host") else "colocate"))
    if not _vllm_installed():
        if not has_gpu() and kernels.lacks("vllm"):  # with a card, the trainer says so itself
            _without_engine(args, "no_engine", mode)
        return
    runs = has_gpu() or _vllm_of_cpu()
    why = server.instead(args) if mode == "server" else ""
    if why or not runs:
        _without_engine(args, why if runs else "no_engine", mode)


def _without_engine(args: Any, why: str, mode: str) -> None:
    """Let the trained model generate, and remember that the run itself has an engine."""
    journal.left_out("engine", why, mode=mode)
    args.use_vllm = False
    args._doctor_engine = True  # noqa: SLF001 - ours


def _vllm_of_cpu() -> bool:
    """Whether vLLM is its build for CPUs, whose version ends in `+cpu`; the usual one runs on none.

    https://docs.vllm.ai/en/stable/getting_started/installation/cpu/
    """
    try:
        return "+cpu" in metadata.version("vllm")
    except metadata.PackageNotFoundError:
        return False


def _vllm_installed() -> bool:
    try:
        from trl.import_utils import is_vllm_available

        return bool(is_vllm_available())
    except Exception:  # noqa: BLE001 - a TRL that asks otherwise
        return "vllm" in sys.modules


def _deepspeed(config: Any) -> None:
    """Under ZeRO-3 have every parameter partitioned; with the usual threshold a tiny model is gathered nowhere."""
    zero = config.get("zero_optimization") if isinstance(config, dict) else None
    if isinstance(zero, dict) and zero.get("stage") == 3:
        zero["stage3_param_persistence_threshold"] = 0
