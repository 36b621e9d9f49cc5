"""Frames of the doctor's own code among those of the program that it watches: they never count.

What the guard and the server's shim put around functions of the program stands in every traceback and stack that passes
through them. A diagnosis made of these is to be the same as without the doctor, so such frames are left out wherever
frames are read. One thing is kept: frames at the inner end that do not just pass a call on, for there the doctor itself
has raised or waits, and to leave them out would blame whoever called it.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Callable, TypeVar

from doctor.base.patterns import later

Frame = TypeVar("Frame")

#: in site-packages, in a folder into which it was carried, in a checkout; and the hooks that bring it into a process
_FILE = later(
    r"(?:^|[\\/])doctor[\\/](?:monitors[\\/](?:guard|inject|capsule|rehearse|witness)|fixes[\\/]vllm_server)"
    r"(?:[\\/]\w{1,60}){1,2}\.py$"
    r"|(?:^|[\\/])patient[\\/](?:hook|site)[\\/]sitecustomize\.py$"
)
#: the same in a checkout whose links were followed, where only the file's own name tells it from another's
_RESOLVED = later(
    r"(?:^|[\\/])(?P<folder>monitors[\\/](?:guard|inject|capsule|rehearse|witness)|fixes[\\/]vllm_server)"
    r"(?:[\\/]\w{1,60})?[\\/](?P<name>\w{1,60}\.py)$"
)

#: functions that pass a call of the program on; each calls what it stands around by the name `original`
PASSING = frozenset(
    {
        "applied", "awaited", "backward", "begin", "begin_and_add", "build_telling", "call", "clip_grad_norm_",
        "compute_loss", "counting", "end", "execute", "generate", "get_output", "initialize_and_watch", "listen",
        "load", "load_guarded",
        "excepthook", "looked_on",
        "load_weights", "loss", "marked", "norm", "note", "note_and_await", "replay", "run", "run_and_tell",
        "scale", "scored", "serve", "shield", "start", "step", "take_model_step", "total", "training_step", "update",
        "watched",
        "create_engine_config", "from_config", "from_pretrained", "get_config_dict", "guarded", "init", "init_subclass",
        "load_dataset", "main", "post_init", "rehearsed", "replaced", "sampler", "save", "select", "split", "timed_map",
        "set_attn_implementation", "train",
        "calculates", "fit", "generate_and_score", "generates", "make_experience_batch", "ppo_train", "push", "pushes",
        "of_many", "of_one", "save_logs_and_checkpoints",
    }
)  # fmt: skip
_CALL = later(r"\boriginal\(")

#: names of the doctor's own threads in a process that it watches
THREADS = "doctor-"

#: py-spy: `    watched (doctor/monitors/guard/rewards.py:118)`, and the line that begins a thread
_PY_SPY = later(r"^\s+(?P<function>\S[^(]{0,200}) \((?P<file>[^()\n]{1,400}):\d+\)\s*$")
_PY_SPY_THREAD = later(r'^Thread .*?"(?P<name>[^"\n]{0,100})"')


@lru_cache(maxsize=4096)
def is_own(path: str) -> bool:
    """Whether a file is one of the doctor's that run inside the programs which it watches."""
    if _FILE.search(path):
        return True
    match = _RESOLVED.search(path)
    return match is not None and match["name"] in _names(match["folder"].replace("\\", "/"))


@lru_cache(maxsize=8)
def _names(folder: str) -> frozenset[str]:
    """Names of the modules in a folder of ours."""
    return frozenset(each.name for each in (Path(__file__).resolve().parent.parent / folder).rglob("*.py"))


def passes_on(path: str, function: str, code: str = "") -> bool:
    """Whether a frame of ours only passes a call of the program on.

    Args:
        path: file of the frame.
        function: its function.
        code: the line that it was at, as far as that is printed.

    """
    return is_own(path) and function in PASSING and (not code or _CALL.search(code) is not None)


def without(frames: Sequence[Frame], told: Callable[[Frame], tuple[str, str, str]]) -> tuple[Frame, ...]:
    """The frames of the program, innermost last; all of them where there is none of the program's.

    Args:
        frames: of one stack, innermost last.
        told: (file, function, line of code or "") of a frame.

    """
    if not any(is_own(told(each)[0]) for each in frames):
        return tuple(frames)
    end = len(frames)
    while end and passes_on(*told(frames[end - 1])):
        end -= 1
    inner = end  # what stands from here to the end is the doctor's own doing
    while inner and is_own(told(frames[inner - 1])[0]):
        inner -= 1
    kept = (*(each for each in frames[:inner] if not is_own(told(each)[0])), *frames[inner:end])
    return kept or tuple(frames)


def py_spy_without(text: str) -> str:
    """What `py-spy dump` prints, without the doctor's threads and without frames that pass a call on."""
    return "".join(_py_spy_lines(text.splitlines(keepends=True)))


def _py_spy_lines(lines: Iterable[str]) -> Iterator[str]:
    ours = False
    for line in lines:
        if line.startswith("Thread "):
            thread = _PY_SPY_THREAD.match(line)
            ours = thread is not None and thread["name"].startswith(THREADS)
        elif not line.startswith((" ", "\t")):
            ours = False
        frame = _PY_SPY.match(line)
        if not ours and not (frame is not None and passes_on(frame["file"], frame["function"])):
            yield line
