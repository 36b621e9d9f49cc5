"""Makes the capsule of this process: once for the failure that ends it, and for a few that do not.

The work is done by a thread that the failing one waits for: a file system that hangs, or a stack that is exhausted,
then costs the capsule and not the run.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, ClassVar, Optional

from doctor.monitors.capsule import looks, process, siblings, write
from doctor.monitors.capsule.frames import Teller
from doctor.run.folder import RunDir

#: variable that lets that many characters of the user's data be told
TEXT = "DOCTOR_CAPSULE_TEXT"

#: seconds for the values of one capsule, and for all of it
VALUES_S, WHOLE_S = 0.8, 1.6
#: failures that do not end the process: how many are kept, and what each may cost
_MOST_SOFT, _SOFT_S = 3, 0.5
_MOST_TEXT = 200


class _State:
    """What this process has told so far."""

    pid: Optional[int] = None
    capsule: ClassVar[dict[str, Any]] = {}
    errors: ClassVar[list[BaseException]] = []
    soft = 0
    lock = threading.Lock()


def record(error: Optional[BaseException], source: str, *, ends: bool, thread: Optional[str], code: Any) -> None:
    """Write the capsule of a failure, and have those of the siblings written.

    Args:
        error: the exception; None for an end without one.
        source: who saw it.
        ends: whether it ends the process, or a thread of it.
        thread: of which it ended, None for the main one.
        code: of `sys.exit`.

    """
    run = RunDir.of_environment()
    if run is None or not _is_failure(error, source):
        return
    _begin()
    if error is not None and any(each is error for each in _State.errors):
        if ends:
            _aside(lambda: _ended(run, error, source), _SOFT_S)
        return
    if not ends:
        _State.soft += 1
        if _State.soft > _MOST_SOFT:
            return
    if error is not None:
        _State.errors.append(error)
    frame = _caller() if error is None else None
    _aside(lambda: _record(run, error, source, ends, thread, code, frame), WHOLE_S + 0.4 if ends else _SOFT_S)


def _caller() -> Optional[types.FrameType]:
    """The frame of the program that is leaving: the first that is none of ours."""
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None and str(dict.get(frame.f_globals, "__name__", "")).startswith("doctor.monitors."):
        frame = frame.f_back
    return frame


def _is_failure(error: Optional[BaseException], source: str) -> bool:
    if error is None:
        return source == "exit"
    if looks.is_of(error, "doctor.monitors.guard.shield.GuardStop"):
        return False
    if not looks.derives(error, Exception):  # `sys.exit` while it handles an interruption
        return source == "exit" and not (looks.derives(error, SystemExit) or looks.derives(error, KeyboardInterrupt))
    return True


def _begin() -> None:
    """A forked child tells its own story."""
    if _State.pid != os.getpid():
        _State.pid, _State.capsule, _State.errors, _State.soft = os.getpid(), {}, [], 0
        _State.lock = threading.Lock()


def _aside(work: Callable[[], None], limit_s: float) -> None:
    """Do the work in a thread and wait for it; at once where no thread can be started any more."""
    helper = threading.Thread(target=_quietly, args=(work,), daemon=True, name="doctor-capsule")
    try:
        helper.start()
    except RuntimeError:
        _quietly(work)
        return
    helper.join(limit_s)


def _quietly(work: Callable[[], None]) -> None:
    with suppress(BaseException):
        work()


def _record(
    run: RunDir, error: Optional[BaseException], source: str, ends: bool, thread: Optional[str], code: Any,
    frame: Optional[types.FrameType],
) -> None:  # fmt: skip
    begin_s = time.monotonic()
    main = ends and (thread is None) and code != 0
    trouble: list[str] = []
    asked = _tried(siblings.ask, trouble) if main else None
    teller = Teller(begin_s + (VALUES_S if ends else _SOFT_S / 2), _text())
    failure: dict[str, Any] = {
        "source": source,
        "ends": ends,
        "thread": thread,
        "code": _code(code),
        "t_ns": time.time_ns(),
    }
    if error is not None:
        failure["chain"] = _tried(lambda: teller.chain(error), trouble) or []
    else:
        stack = _tried(lambda: teller.stack(frame), trouble) or []
        failure["chain"] = [{"type": "SystemExit", "message": str(_code(code)), "relation": "raised", "frames": stack}]
    _put(run, {"failures": [failure]}, teller, begin_s, trouble)
    if asked:
        siblings.wait(asked, run.path / write.FOLDER, begin_s + WHOLE_S)


def _ended(run: RunDir, error: BaseException, source: str) -> None:
    """An exception that was told when it was logged or handed on has ended the process after all."""
    with _State.lock:
        for failure, known in zip(_State.capsule.get("failures", []), _State.errors):  # noqa: B905 - Python 3.9
            if known is error and not failure["ends"]:
                failure.update(ends=True, source=source)
                write.write(write.path_of(run), _State.capsule)


def stand(to: Optional[str] = None) -> None:
    """Tell where the main thread stands.

    Args:
        to: folder among the run's hangs, for a run that stands still; None: because a sibling failed, once.

    """
    run = RunDir.of_environment()
    if run is None:
        return
    _begin()
    if to is None and (_State.capsule.get("failures") or _State.capsule.get("stands")):
        return
    begin_s, trouble = time.monotonic(), list[str]()
    teller = Teller(begin_s + VALUES_S, _text())
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    frames = _tried(lambda: teller.stack(frame), trouble) or []
    told = {"stands": {"t_ns": time.time_ns(), "frames": frames}}
    if to is None:
        _put(run, told, teller, begin_s, trouble)
    else:
        path = write.path_of(run)
        _put(run, told, teller, begin_s, trouble, {}, run.path / write.HANGS / to / path.name)


def _put(
    run: RunDir, told: dict[str, Any], teller: Teller, begin_s: float, trouble: list[str],
    beside: Optional[dict[str, Any]] = None, path: Optional[Path] = None,
) -> None:  # fmt: skip
    """Add what was told to the capsule of this process, or to one beside it, and write it."""
    links = [link for each in told.get("failures", []) for link in each["chain"]]
    frames = links[0]["frames"] if links else told.get("stands", {}).get("frames", [])
    phase = process.phase_of([each["function"] for each in frames])
    device_fails = any(_of_device(link) for link in links)
    with _State.lock:
        capsule = _State.capsule if beside is None else beside
        described = _tried(lambda: process.describe(touch_device=not device_fails, phase=phase), trouble) or {}
        capsule.setdefault("schema", write.SCHEMA)
        capsule["captured_ns"] = time.time_ns()
        capsule["process"] = described
        capsule["failures"] = [*capsule.get("failures", []), *told.get("failures", [])]
        capsule["stands"] = told.get("stands", capsule.get("stands"))
        capsule["configs"] = [*capsule.get("configs", []), *teller.configs][:16]
        capsule["modules"] = [*capsule.get("modules", []), *teller.modules][:8]
        capsule["trouble"] = [*capsule.get("trouble", []), *trouble][:20]
        capsule["seconds"] = round(time.monotonic() - begin_s, 3)
        write.write(path or write.path_of(run), capsule)


def _of_device(link: dict[str, Any]) -> bool:
    """Whether an exception leaves the device in a state in which every call to it fails; a full memory does not."""
    text = f"{link['type']} {link['message']}"
    if "OutOfMemory" in text or "out of memory" in text:
        return False
    return any(each in text for each in ("CUDA", "cuda error", "CUBLAS", "CUDNN", "cuDNN", "NCCL", "AcceleratorError"))


def _code(code: Any) -> Any:
    if type(code) is int or code is None:
        return code
    return code[:500] if type(code) is str else type(code).__name__


def _text() -> int:
    return _MOST_TEXT if os.environ.get(TEXT, "0") not in ("", "0") else 0


def _tried(work: Callable[[], Any], trouble: list[str]) -> Any:
    """What `work` gives; None and a note where it fails."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - a part costs itself, not the others
        trouble.append(looks.class_name(type(error)))
        return None
