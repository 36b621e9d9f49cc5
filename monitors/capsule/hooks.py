"""Where an exception is seen before it ends a process, or before it is handed to another one.

Every Python of a run reads this module as it starts, so it imports nothing but `os`, `sys`, `atexit` and
`faulthandler`; the rest is read in the moment of a failure. What was there before is called with what it was called
with, and prints what it printed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` itself is not read: every Python of a run starts with this module
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

#: "0" switches all of this off
SWITCH = "DOCTOR_CAPSULE"
_RUN = "DOCTOR_RUN_DIR"

#: modules in which there is something to look on at, when they are imported
AWAITED = (
    "threading", "logging", "multiprocessing.util", "multiprocessing.pool", "concurrent.futures.process", "torch",
    "torch._utils", "ray.exceptions", "http.server", "uvicorn.server",
)  # fmt: skip

_installed: set[str] = set()

_CAPTURE = "doctor.monitors.capsule.capture"
#: seconds that a failing program waits for the disk of the run folder
_PATIENCE_S = 2.0

#: of the level ERROR of `logging`, below which an exception is a remark
_ERROR = 40


def may_import() -> bool:
    """Whether the name of our package is ours in this process; the start-up hook puts its own answer here."""
    return True


def install() -> None:
    """Look on in this process from now on, at the modules that are imported and at those that `attach` is told of."""
    if os.environ.get(SWITCH) == "0" or not os.environ.get(_RUN):
        return
    if _once("sys"):
        _of_sys()
        _of_signals()
    for name in AWAITED:
        module = sys.modules.get(name)
        if module is not None:
            attach(name, module)


def moved() -> None:
    """Write into the folder that the environment names by now, and answer there: this process began in another run."""
    _after_fork()
    try:
        _to_answer(None)
    except Exception:  # noqa: BLE001 - a system without such sockets
        return


def attach(name: str, module: Any) -> None:
    """Look on at one of the awaited modules, which is imported now; once, and never at the price of the program."""
    put = _PUT.get(name)
    if put is None or "sys" not in _installed or not _once(name):
        return
    try:
        put(module)
    except Exception:  # noqa: BLE001 - another release of a library: there is nothing to look on at
        return


def _once(name: str) -> bool:
    if name in _installed:
        return False
    _installed.add(name)
    return True


def record(error: Any, source: str, *, ends: bool, thread: Optional[str] = None, code: Any = None) -> None:
    """Have a capsule written; nothing of it reaches the caller.

    Args:
        error: the exception; None for an end without one.
        source: who saw it.
        ends: whether it ends the process, or a thread of it.
        thread: name of the thread, None for the main one.
        code: of `sys.exit`.

    """
    try:
        if error is not None and source != "exit" and not issubclass(type(error), Exception):
            return  # an interruption: Python's exit code for it stands only as long as no other text is compiled
        if not (may_import() and _read_in_time(_CAPTURE)):
            return
        sys.modules[_CAPTURE].record(error, source, ends=ends, thread=thread, code=code)
    except Exception:  # noqa: BLE001 - the program goes the way that it would have gone
        return


def _read_in_time(name: str) -> bool:
    """Import one of our modules, whose disk may hang; whether it is there within two seconds."""
    if name not in sys.modules and not _Late.imports:
        _Late.imports = True  # nobody waits for it a second time
        if _in_time(lambda: __import__(name)):
            _Late.imports = False
    return name in sys.modules


class _Late:
    """Whether our modules have not been read in time."""

    imports = False


def _in_time(work: Callable[[], object]) -> bool:
    """Do what concerns the disk of the run folder, whatever comes of it; whether it is done within two seconds."""
    import _thread

    done = _thread.allocate_lock()
    done.acquire()
    try:
        _thread.start_new_thread(_try, (work, done))
    except RuntimeError:  # the interpreter is ending
        _try(work, done)
    return done.acquire(timeout=_PATIENCE_S)


def _try(work: Callable[[], object], done: Any) -> None:
    """Do it, and release the lock for which somebody waits."""
    try:  # noqa: SIM105 - `contextlib` is not read before a failure
        work()
    except BaseException:  # noqa: BLE001, S110 - a folder that has gone costs what was to be written
        pass
    done.release()


def _of_sys() -> None:
    before, leave = sys.excepthook, sys.exit

    def excepthook(kind: Any, error: Any, where: Any) -> None:
        before(kind, error, where)
        record(error, "excepthook", ends=True)

    def exit(*arguments: Any) -> Any:  # noqa: A001 - it stands for it
        code = arguments[0] if arguments else None
        if (type(code) is int and code != 0) or type(code) is str:
            record(sys.exc_info()[1], "exit", ends=True, code=code)
        elif "torch.distributed" in sys.modules and "RANK" in os.environ and _is_joined():
            record(sys.exc_info()[1], "exit", ends=True, code=0)
        return leave(*arguments)

    exit.__doc__, exit.__name__, exit.__qualname__ = leave.__doc__, "exit", "exit"
    sys.excepthook, sys.exit = excepthook, exit
    import atexit

    atexit.register(_at_exit)


def _is_joined() -> bool:
    """Whether this rank leaves while its process group is still there."""
    try:
        return bool(sys.modules["torch.distributed"].is_initialized())
    except Exception:  # noqa: BLE001 - a torch without distributed
        return False


def _at_exit() -> None:
    """The last exception that Python printed, where a hook that was set later kept it from ours."""
    try:
        error = getattr(sys, "last_value", None)
        if error is not None and not hasattr(sys, "ps1"):
            record(error, "excepthook", ends=True)
        _forget_signals()
    except Exception:  # noqa: BLE001 - the program has ended; nobody is to hear of it
        return


class _Stacks:
    """The file of this process for `faulthandler`; none where the program has a handler of its own."""

    descriptor: Optional[int] = None
    path: Optional[str] = None
    pid: Optional[int] = None


def _of_signals() -> None:
    """Have the stacks written beside the capsules when SIGSEGV, SIGABRT, SIGBUS, SIGFPE or SIGILL kills the process."""
    try:
        import faulthandler

        if faulthandler.is_enabled():
            return
        _enable_stacks()
        os.register_at_fork(after_in_child=_after_fork)
    except Exception:  # noqa: BLE001 - a folder that cannot be written
        return


def _enable_stacks() -> None:
    import faulthandler

    folder = os.path.join(os.environ[_RUN], "capsules")
    os.makedirs(folder, exist_ok=True)
    rank = os.environ.get("RANK", "")
    name = f"{f'rank{rank}-' if rank.isdecimal() else ''}{os.uname().nodename}-{os.getpid()}.stack"
    path = os.path.join(folder, name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    faulthandler.enable(file=descriptor, all_threads=True)
    _Stacks.descriptor, _Stacks.path, _Stacks.pid = descriptor, path, os.getpid()


def _after_fork() -> None:
    """A child writes into a file of its own."""
    try:
        import faulthandler

        before = _Stacks.descriptor
        if before is not None and faulthandler.is_enabled():
            _enable_stacks()
            os.close(before)
    except Exception:  # noqa: BLE001 - the child goes on with its parent's file
        return


def _forget_signals() -> None:
    """Take the file away where nothing stands in it: the process ends by itself."""
    path = _Stacks.path
    if path is None or _Stacks.pid != os.getpid():
        return

    def forget() -> None:
        if os.path.getsize(path) == 0:
            os.unlink(path)

    patience = sys.modules.get("doctor.run.patience")  # whose thread is there when no other can be started any more
    if patience is not None:
        patience.touch(forget, None)
    else:
        _in_time(forget)


def _of_threads(module: Any) -> None:
    original = module.excepthook

    def excepthook(args: Any) -> None:
        original(args)
        if args.exc_value is not None:
            record(args.exc_value, "thread", ends=True, thread=getattr(args.thread, "_name", None))

    module.excepthook = excepthook


def _of_logging(module: Any) -> None:
    """Exceptions that are logged and go no further; asyncio tells those of its tasks so, too."""
    _wrap(module.Formatter, "formatException", _logged)


def _logged(self: Any, info: Any, *_: Any) -> None:
    told = sys._getframe(2).f_locals.get("record")
    level = getattr(told, "levelno", _ERROR)
    if level >= _ERROR and type(info) is tuple and len(info) == 3 and info[1] is not None:
        record(info[1], "logged", ends=False)


def _of_processes(module: Any) -> None:
    """Children of multiprocessing: `BaseProcess._bootstrap` calls this on the way out, whatever class runs.

    The exception is in flight there, and neither a frame nor a word is added to what it prints.
    https://github.com/python/cpython/blob/v3.13.0/Lib/multiprocessing/process.py#L296-L340
    """
    _wrap(module, "_exit_function", _child_ends)


def _child_ends(*_: Any) -> None:
    error = sys.exc_info()[1]
    if error is not None:
        record(error, "process", ends=True)
    elif _is_child():
        _forget_signals()


def _is_child() -> bool:
    return getattr(sys.modules.get("multiprocessing.process"), "_parent_process", None) is not None


def _of_workers(module: Any) -> None:
    """Workers of torch's data loader hand their exceptions to the main process in a wrapper."""
    _wrap(module.ExceptionWrapper, "__init__", _handed_on)


def _handed_on(self: Any, info: Any = None, *_: Any, **__: Any) -> None:
    error = (info or sys.exc_info())[1]
    record(error, "worker", ends=False)


def _of_pools(module: Any) -> None:
    """Workers of pools send their exceptions to who asked, in a wrapper that is made where it happened."""
    name = "ExceptionWithTraceback" if hasattr(module, "ExceptionWithTraceback") else "_ExceptionWithTraceback"
    _wrap(getattr(module, name), "__init__", _sent)


def _sent(self: Any, error: Any = None, *_: Any, **__: Any) -> None:
    record(error, "worker", ends=False)


def _of_ray(module: Any) -> None:
    """Tasks and actors of Ray hand their exceptions on in a RayTaskError, which is made where it happened."""
    _wrap(module.RayTaskError, "__init__", _of_task)
    _to_answer(module)


def _of_task(self: Any, name: Any = "", text: Any = "", cause: Any = None, *_: Any, **__: Any) -> None:
    if getattr(cause, "__traceback__", None) is not None:
        record(cause, "ray", ends=False)


def _to_answer(_: Any) -> None:
    """A process that computes or serves: it answers when a sibling fails, and when the run stands still."""
    from doctor.monitors.capsule import siblings

    siblings.listen(_stand)


def _stand(to: Optional[str]) -> None:
    """Tell where this process stands, for a sibling that failed; what that needs is imported only then."""
    from doctor.monitors.capsule import capture

    capture.stand(to)


def _wrap(owner: Any, name: str, look: Callable[..., Any]) -> None:
    """Have `look` called with the arguments of a function before the function is."""
    original = getattr(owner, name)

    def looked_on(*args: Any, **kwargs: Any) -> Any:
        try:  # noqa: SIM105 - `contextlib` is not read before a failure
            look(*args, **kwargs)
        except Exception:  # noqa: BLE001, S110 - the function is called as if nobody looked on
            pass
        return original(*args, **kwargs)

    for each in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(looked_on, each, getattr(original, each, None))
    setattr(owner, name, looked_on)


_PUT: dict[str, Callable[[Any], None]] = {
    "threading": _of_threads, "logging": _of_logging, "multiprocessing.util": _of_processes, "torch": _to_answer,
    "torch._utils": _of_workers, "ray.exceptions": _of_ray, "multiprocessing.pool": _of_pools,
    "concurrent.futures.process": _of_pools, "http.server": _to_answer, "uvicorn.server": _to_answer,
}  # fmt: skip
