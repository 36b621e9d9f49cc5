"""Calls a framework's own validator with the settings of a command, in a process that is held, and tells its answer.

Run as `python -c BOOT FILE SECONDS FOLDER PLAN`, where FOLDER holds this code alone, FILE takes the lines and PLAN is
JSON, see `doctor.readers.patient.framework_words`. Runs in the patient: Python 3.9, standard library.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Optional

from doctor.readers.patient.entries import ENTRIES, Accepted, NotAsked
from doctor.readers.patient.held import Held, hold
from doctor.readers.patient.said import Said

_CHARACTERS = 2000
#: names under which Transformers asks for what only a GPU could tell; the validator is to look at the settings
_DEVICE_QUESTIONS = ("is_torch_bf16_gpu_available", "is_torch_tf32_available")


def main(path: str, seconds: str, text: str) -> None:
    """Hold this process, ask, and tell what comes of it."""
    plan, said = json.loads(text), Said(path)
    held = hold(os.path.dirname(path), float(seconds), plan["parent"])
    sys.dont_write_bytecode = True
    os.environ.update(dict.fromkeys(plan["caches"], os.path.dirname(path)))
    os.chdir(plan["folder"])
    sys.path[:] = plan["first"] + [each for each in sys.path if each not in ("", plan["carried"])]
    said.say(started=True, held=held.by_kernel)
    printed = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(printed):
        answer = _asked(plan)
    if answer.get("kind") == "SystemExit":
        answer["message"] = _complaint(printed.getvalue()) or answer["message"]
    said.say(**answer, refused=held.refused[:20], wanted=_wanted(answer, held))
    os._exit(0)  # threads that a framework started are not waited for


def assume_device() -> None:
    """Answer questions for the abilities of a GPU with yes in every module that has imported them."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        for name in _DEVICE_QUESTIONS:
            if callable(names.get(name)):
                names[name] = _yes


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _asked(plan: dict[str, Any]) -> dict[str, Any]:
    """The answer of the framework's entry."""
    try:
        ENTRIES[plan["framework"]](plan, assume_device)
    except Accepted:
        return {"outcome": "accepts"}
    except NotAsked as exc:
        return {"outcome": "not_asked", "message": str(exc)}
    except BaseException as exc:  # a framework may end the interpreter
        if isinstance(exc, SystemExit) and exc.code in (0, None):
            return {"outcome": "not_asked", "message": "its parser only printed its help"}
        return {"outcome": "refuses", **_told(exc, plan)}
    return {"outcome": "accepts"}


def _told(exc: BaseException, plan: dict[str, Any]) -> dict[str, Any]:
    """An exception with its class, its words and where it was raised; frames of this code are nobody's."""
    places = [each for each in _places(exc) if not each[0].startswith(plan["carried"])]
    own = next((each for each in reversed(places) if each[0].startswith(plan["package"] + "/")), None)
    return {
        "kind": type(exc).__name__,
        "message": str(exc)[:_CHARACTERS],
        "system": any(isinstance(each, OSError) for each in _chain(exc)),
        "missing": next((each.name for each in _chain(exc) if isinstance(each, ModuleNotFoundError)), None),
        "imports": any(isinstance(each, ImportError) for each in _chain(exc)),
        "file": (own or (None,))[0],
        "line": own[1] if own else None,
        "function": own[2] if own else None,
        "raised_in": places[-1][0] if places else None,
    }


def _chain(exc: Optional[BaseException]) -> list[BaseException]:
    """An exception and those that it was raised from or while handling."""
    found: list[BaseException] = []
    while exc is not None and exc not in found:
        found.append(exc)
        exc = exc.__cause__ or exc.__context__
    return found


def _places(exc: BaseException) -> list[tuple[str, int, str]]:
    """(file below the folder of packages, line, function) of every frame, the innermost last."""
    found = []
    trace = exc.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename.replace(os.sep, "/")
        found.append((_below(name), trace.tb_lineno, trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    return found


def _below(name: str) -> str:
    """The part of a path that begins with a package's name."""
    for entry in sys.path:
        start = entry.replace(os.sep, "/").rstrip("/") + "/"
        if entry and name.startswith(start):
            return name[len(start) :]
    return name


def _complaint(printed: str) -> str:
    """What argparse says before it ends the interpreter: `PROGRAM: error: ...`."""
    lines = [line for line in printed.splitlines() if ": error: " in line]
    return lines[-1].split(": error: ", 1)[1][:_CHARACTERS] if lines else ""


def _wanted(answer: dict[str, Any], held: Held) -> Optional[str]:
    """What the validator was refused, where its complaint may be the refusal's doing."""
    if answer["outcome"] != "refuses" or not held.refused:
        return None
    return held.refused[-1] if answer.get("system") else None
