"""Where the threads of this process are: as text for people, and as frames for those who judge."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Optional

from doctor.base.asking import asked
from doctor.base.own_frames import THREADS, py_spy_without, without
from doctor.catalogue.standing import of_program

MOST_THREADS, MOST_FRAMES = 64, 200

#: py-spy stops the process while it looks; a big one takes seconds
PY_SPY_S = 20.0

#: functions that take as long as they take: (end of the file, name), of transformers 4.46 to 5.23 and torch 2.13
_LONG = frozenset(
    {
        ("transformers/trainer.py", "_save_checkpoint"), ("transformers/trainer.py", "save_model"),
        ("transformers/trainer.py", "_load_from_checkpoint"), ("transformers/trainer.py", "evaluate"),
        ("transformers/trainer.py", "predict"), ("transformers/trainer.py", "push_to_hub"),
        ("torch/_dynamo/convert_frame.py", "_compile"), ("triton/compiler/compiler.py", "compile"),
    }
)  # fmt: skip


def of_process() -> str:
    """Stacks of all threads of this process but the doctor's, the main one first, innermost frame last."""
    main = threading.main_thread().ident
    names = {each.ident: each.name for each in threading.enumerate()}
    frames = sorted(sys._current_frames().items(), key=lambda each: each[0] != main)  # noqa: SLF001 - documented
    parts = [f"process {os.getpid()}: {' '.join(sys.argv)[:300]}\n"]
    theirs = (each for each in frames if not names.get(each[0], "").startswith(THREADS))
    for ident, frame in itertools.islice(theirs, MOST_THREADS):
        parts.append(f"\nthread {names.get(ident, '?')} ({ident})\n")
        stack = traceback.extract_stack(frame, MOST_FRAMES)
        theirs_only: tuple[traceback.FrameSummary, ...] = without(stack, _told)
        parts += traceback.format_list(list(theirs_only))
    return "".join(parts)


def _told(frame: traceback.FrameSummary) -> tuple[str, str, str]:
    return frame.filename, frame.name, frame.line or ""


def of_main() -> list[tuple[str, int, str]]:
    """(file, line, function) of the main thread's frames, innermost first; those of the doctor are left out."""
    frame: Optional[FrameType] = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - documented
    found: list[tuple[str, int, str]] = []
    while frame is not None and len(found) < MOST_FRAMES:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return list(of_program(found))


def runs(thread: int, code: CodeType) -> bool:
    """Whether a function, or one of the same code, is being run by a thread."""
    frame: Optional[FrameType] = sys._current_frames().get(thread)  # noqa: SLF001 - documented
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def is_long(frames: Sequence[tuple[str, int, str]]) -> bool:
    """Whether somebody saves, evaluates or compiles, which may take many times as long as a step."""
    return any((_end(file), function) in _LONG for file, _, function in frames)


def _end(file: str) -> str:
    """A file's path inside its package: below the last folder of packages."""
    return file.replace("\\", "/").rpartition("-packages/")[2]


def py_spy(path: Path) -> bool:
    """Have py-spy write the stacks of this process with the native frames below them; False where it cannot.

    It is used where the user installed it and the system permits one process to look into another
    (https://github.com/benfred/py-spy#when-do-you-need-to-run-as-sudo).
    """
    program = shutil.which("py-spy")
    if program is None:
        return False
    try:
        done = asked([program, "dump", "--native", "--pid", str(os.getpid())], seconds=PY_SPY_S)
    except OSError:
        return False
    if done.code != 0 or not done.out:
        return False
    path.write_text(py_spy_without(done.out.decode("utf-8", "replace")), encoding="utf-8")
    return True
