"""Commands of the doctor, each in a fork of a process that has imported it: as `python -m doctor`, without the start.

Half of what a short command costs is Python's start and imports. A worker starts one process that imports the doctor
and calls nothing of it; every command is a fork of that: with its own memory, folder, variables, descriptors, signals
and end, so that nothing of one command reaches another, which is more than a call inside of the test's process could
say. What differs from `python -m doctor`: the command's parent, and that modules are there before they are asked for.

What the start of Python itself reads (`PYTHON*`, the locale) cannot be changed by a fork: a command with other values
than the worker's gets a process of its own, as does every test that is about the start; from the second such command
on it is a fork of one that was started so. Of `PYTHONPATH` the fork does what the start would have done, unless a
folder of it holds what Python runs at the start.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.processes import allowed

_ROOT = Path(__file__).parent.parent
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
_RUN_AT_START = ("sitecustomize.py", "usercustomize.py")
_MOST_STARTS = 3  # processes that a worker has, each with other variables at its start: they hold 100 MB each
_met: Counter[frozenset[tuple[str, str]]] = Counter()
_begun: dict[frozenset[tuple[str, str]], str] = {}


def run_doctor(
    *arguments: str,
    cwd: Path,
    env: dict[str, str] | None = None,
    only: dict[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """`python -m doctor ...` as a user would call it.

    Args:
        arguments: of the command.
        cwd: where it runs.
        env: what is added to the variables of the test.
        only: all variables there are, in place of those of the test.
        timeout: seconds.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.

    """
    variables = {**(os.environ if only is None else only), **(env or {})}
    argv = [sys.executable, "-m", "doctor", *arguments]
    address = _address(_at_start(variables))
    if address is None:
        return subprocess.run(
            argv, cwd=cwd, env=variables, capture_output=True, text=True, timeout=timeout, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _forked(address, {"arguments": arguments, "cwd": str(cwd), "variables": variables}, (out, err), timeout)
        told = []
        for each in (out, err):
            each.seek(0)
            told.append(each.read().decode().replace("\r\n", "\n"))
        if code is None:
            raise subprocess.TimeoutExpired(argv, timeout, *told)
        return subprocess.CompletedProcess(argv, code, *told)


def _at_start(variables: dict[str, str]) -> dict[str, str]:
    """The variables that Python reads before any code of ours; `_become` does what it does with a `PYTHONPATH`."""
    read = {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}
    if not any((folder / name).exists() for folder in map(Path, _python_path(variables)) for name in _RUN_AT_START):
        read.pop("PYTHONPATH", None)
    return read


def _python_path(variables: Mapping[str, str]) -> list[str]:
    return [each for each in variables.get("PYTHONPATH", "").split(os.pathsep) if each]


def _address(at_start: dict[str, str]) -> str | None:
    """Of the process that was started with such variables: None where they are met for the first time, or are many."""
    key = frozenset(at_start.items())
    _met[key] += 1
    if key not in _begun and key != frozenset(_at_start(dict(os.environ)).items()) and (
        _met[key] == 1 or len(_begun) == _MOST_STARTS
    ):  # fmt: skip
        return None
    if key not in _begun:
        _begun[key] = _started(at_start)
    return _begun[key]


def _forked(address: str, wanted: dict[str, object], outputs: Sequence[IO[bytes]], timeout: float) -> int | None:
    """Exit code as `subprocess` tells it; None when it was killed for its time."""
    request = json.dumps(wanted).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendmsg([len(request).to_bytes(8, "big")], [
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [each.fileno() for each in outputs])),
        ])  # fmt: skip
        connection.sendall(request)
        command = int.from_bytes(_exactly(connection, 8), "big")
        connection.settimeout(timeout)
        try:
            return int.from_bytes(_exactly(connection, 8), "big", signed=True)
        except TimeoutError:
            os.kill(command, signal.SIGKILL)
            connection.settimeout(None)
            _exactly(connection, 8)
            return None


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more, "the process that runs commands has ended"
        data += more
    return data


def _started(at_start: dict[str, str]) -> str:
    """The address of a new process that was started with such variables; it ends with the worker."""
    folder = tempfile.TemporaryDirectory(prefix="doctor-commands-")
    address = str(Path(folder.name) / "socket")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_READ_AT_START)} | at_start
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    with allowed():
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.commands", str(listener.fileno())], cwd=_ROOT, env=variables,
            stdin=subprocess.PIPE, pass_fds=[listener.fileno()],
        )  # fmt: skip
    listener.close()

    def end() -> None:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        folder.cleanup()

    atexit.register(end)
    return address


# in that process --------------------------------------------------------------------------------------------------


def _serve(listener: socket.socket) -> None:
    """Fork for each connection; end with the worker, which holds the other end of standard input."""
    import select

    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        with suppress(ChildProcessError):  # those that have answered; what they took counts as this process's
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if 0 in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(connection)
            os._exit(0)
        connection.close()


def _answer(connection: socket.socket) -> None:
    """Run one command in a fork, and tell how it ended."""
    size, passed, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(2 * array.array("i").itemsize))
    outputs = array.array("i")
    outputs.frombytes(passed[0][2])
    request = json.loads(_exactly(connection, int.from_bytes(size, "big")))
    command = os.fork()
    if command == 0:
        connection.close()
        _become(request, outputs)
    for each in outputs:
        os.close(each)
    connection.sendall(command.to_bytes(8, "big"))
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    connection.sendall(code.to_bytes(8, "big", signed=True))


def _become(request: dict[str, object], outputs: array.array[int]) -> None:
    """Be `python -m doctor`: its descriptors, folder, variables and arguments."""
    null = os.open(os.devnull, os.O_RDONLY)
    for number, each in enumerate((null, *outputs)):
        os.dup2(each, number)
        os.close(each)
    os.chdir(str(request["cwd"]))
    before = _python_path(os.environ)
    os.environ.clear()
    os.environ.update(request["variables"])  # type: ignore[call-overload]
    import doctor.__main__ as command

    rest = [each for each in sys.path[1:] if each not in before]
    sys.path[:] = [os.getcwd(), *_python_path(os.environ), *rest]  # noqa: PTH109 - as the interpreter writes it
    sys.argv = [str(command.__file__), *request["arguments"]]  # type: ignore[misc]
    command.main()


def _import_the_doctor() -> None:
    """Import what commands import, and run nothing: without the catalogue of what they judge, which is large."""
    import importlib
    import pkgutil

    import doctor
    from doctor.catalogue import index

    left_out = ("doctor.checks", "doctor.fixes.vllm_server", "doctor.monitors.inject", "doctor.__main__")
    for each in pkgutil.walk_packages(doctor.__path__, "doctor.", onerror=lambda _: None):
        if not each.name.startswith(left_out):
            importlib.import_module(each.name)
    for entry in index.load():
        for each in entry.checks:
            importlib.import_module(each.table or entry.module)


if __name__ == "__main__":
    import gc

    _import_the_doctor()
    gc.freeze()  # a fork that collects garbage would copy every page
    _serve(socket.socket(fileno=int(sys.argv[1])))
