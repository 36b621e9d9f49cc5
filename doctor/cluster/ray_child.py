"""Talks to a Ray cluster through a child process: the doctor itself never imports Ray.

The child runs under the interpreter that would run the training, for a driver must have the Ray and the Python of its
cluster. The code that it and the nodes need is carried into a temporary folder (`doctor.readers.patient.carry`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from doctor.base.fact import Context
from doctor.base.record import record
from doctor.base.scratch import Folder
from doctor.readers.patient.carry import carry

#: the import of Ray, the connection and the first look at the nodes
CONNECT_S = 90.0
_MODULES = ("doctor.cluster.ray_main", "doctor.cluster.ray_work", "doctor.cluster.ray_stream")
_BOOTSTRAP = "import sys; sys.path.insert(0, sys.argv[1]); from doctor.cluster.ray_main import main; main()"
_KEEP_BYTES = 64 << 10
_GRACE_S = 10.0


class RayRefused(Exception):  # noqa: N818 - the message is for the user
    """There is no cluster to ask; `what` is "interpreter", "connect", "version", "failed" or "ended"."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(message)
        self.what = what


@record
class Request:
    """What is asked of a cluster, see `doctor.cluster.ray_work`.

    Args:
        address: "auto", "host:port" or "ray://host:port".
        task: "package.module:function", called on the nodes with one mapping.
        arguments: JSON values that every call gets.
        over: "nodes", "items" or "stream".
        timeout_s, deadline_s: for one task, for all of them; of a stream, the longest silence of the driver.
        modules: what is carried for the task, dotted names; that of the task itself always is.
        env: further variables of the tasks.
        more: what a mode needs besides.
        files: data that the carried code reads beside the package, by name.

    """

    address: str
    task: str
    arguments: Mapping[str, Any]
    over: Literal["nodes", "items", "stream"] = "nodes"
    items: tuple[Any, ...] = ()
    timeout_s: float = 60.0
    deadline_s: float = 120.0
    modules: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    more: Mapping[str, Any] | None = None
    files: Mapping[str, str] | None = None


class RayChild:
    """A request under way: iterate over the lines that come; leaving the `with` block ends the child and its tasks."""

    def __init__(self, request: Request, python: str, environ: Mapping[str, str] | None = None) -> None:
        """Start the child.

        Args:
            request: what is asked.
            python: the interpreter, which has Ray.
            environ: variables of the child; this process's own where None.

        Raises:
            RayRefused: the interpreter cannot be started.

        """
        self._request = request
        self._folder = Folder("ray")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        self._ended = self._connected = self._stopping = False
        self._until = 0.0
        try:
            modules = _pack(Path(self._folder.name), request)
            self._process = self._start(python, dict(os.environ if environ is None else environ))
            self._say({**_as_json(request), "modules": modules})
        except OSError as exc:
            self._tidy()
            raise RayRefused("interpreter", f"`{python}` cannot be started: {exc.strerror}") from None
        except BaseException:
            self._tidy()
            raise

    def _start(self, python: str, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [python, "-B", "-c", _BOOTSTRAP, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self._folder.name,  # Ray hands this folder on to its workers as one to import from
            env=environ,
            start_new_session=True,
        )

    def _say(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(BrokenPipeError):  # it is dead already: its last words are read like any others
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def stop(self) -> None:
        """Ask for the end of a stream; what is left comes before its "end", soon or never."""
        self._say({"stop": True})
        self._stopping = True
        self._until = time.monotonic() + float((self._request.more or {}).get("close_s", 0.0)) + _GRACE_S

    @property
    def pid(self) -> int:
        """Process id of the driver."""
        return self._process.pid

    def __enter__(self) -> RayChild:  # noqa: PYI034 - Self is of Python 3.11
        """Nothing more than itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the child whatever happened."""
        self.close()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines of the child, "nodes" first, until its end or the deadline.

        Raises:
            RayRefused: it could not connect, it ended before it had said so, or a stream fell silent.

        """
        self._until = time.monotonic() + CONNECT_S
        for line in self._received():
            if line["kind"] == "error":
                raise RayRefused(line["what"], line["reason"])
            if line["kind"] == "end":
                return
            self._connected = True
            if line["kind"] == "nodes" or (self._request.over == "stream" and not self._stopping):
                self._until = time.monotonic() + self._request.deadline_s + _GRACE_S
            yield line

    def _received(self) -> Iterator[dict[str, Any]]:
        """Decoded lines as they come; stops at the deadline."""
        import selectors

        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        kept: list[bytes] = []  # pieces of a line that is not whole yet
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, self._until - time.monotonic())):
                chunk = os.read(self._process.stdout.fileno(), 1 << 20)
                if not chunk:
                    raise RayRefused("ended", f"the Ray driver ended unexpectedly{self._last_words()}")
                first, *others = chunk.split(b"\n")
                kept.append(first)
                for each in others:
                    line = b"".join(kept)
                    kept = [each]
                    if line.startswith(b"{"):  # else a greeting of the interpreter's own, printed before our code began
                        yield json.loads(line)
        if not self._connected:
            raise RayRefused("connect", f"Ray gave no answer within {CONNECT_S:.0f} s{self._last_words()}")
        if self._request.over == "stream" and not self._stopping:
            silent_s = self._request.deadline_s + _GRACE_S
            raise RayRefused("ended", f"the Ray driver said nothing for {silent_s:.0f} s{self._last_words()}")

    def _last_words(self) -> str:
        from doctor.base.redact import redact_text

        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _KEEP_BYTES))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f": {redact_text(lines[-1])[:300]}" if lines else ""

    def close(self) -> None:
        """Kill the child's whole group: Ray ends the tasks of a driver that is gone."""
        if self._ended:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None  # noqa: S101 - both are pipes
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        self._tidy()

    def _tidy(self) -> None:
        self._ended = True
        self._errors.close()
        self._folder.cleanup()


def _as_json(request: Request) -> dict[str, Any]:
    fields = ("address", "task", "over", "timeout_s", "deadline_s")
    return {
        **{name: getattr(request, name) for name in fields},
        "arguments": dict(request.arguments),
        "items": list(request.items),
        "env": dict(request.env or {}),
        **dict(request.more or {}),
    }


def _pack(folder: Path, request: Request) -> list[str]:
    """Carry the code, and NVIDIA's binding from where this interpreter finds it; paths for Ray's `py_modules`."""
    carry([*_MODULES, *request.modules, request.task.partition(":")[0]], folder)
    for name, text in (request.files or {}).items():
        (folder / "doctor" / name).write_text(text, encoding="utf-8")
    packed = [str(folder / "doctor")]
    found = importlib.util.find_spec("pynvml")
    if found is not None and found.origin and Path(found.origin).is_file():
        # as a package: Ray before 2.40 takes folders alone
        (folder / "pynvml").mkdir()
        (folder / "pynvml" / "__init__.py").write_bytes(Path(found.origin).read_bytes())
        packed.append(str(folder / "pynvml"))
    return packed


# Whose Ray ---------------------------------------------------------------------------------------------------------


def interpreter_with_ray(context: Context) -> str:
    """The interpreter that `doctor check` would judge, when it has Ray; else the doctor's own.

    Raises:
        RayRefused: neither has Ray, or there is no interpreter.

    """
    from doctor.readers.collector import Collector

    collector = Collector(context)
    collector.ask(["target"])
    state = collector.states["target"]
    if state.status == "ok" and state.value.raw["modules"].get("ray"):
        return str(state.value.executable)
    if importlib.util.find_spec("ray") is not None and context.python is None:
        return sys.executable
    if state.status != "ok":
        raise RayRefused("interpreter", f"{state.reason}; name an interpreter that has Ray with --python")
    message = (
        f"`{state.value.executable}` has no Ray; name the interpreter that starts your Ray jobs with --python, "
        "or install `ray` beside the doctor in the version of your cluster"
    )
    raise RayRefused("interpreter", message)


def answers(request: Request, python: str, environ: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """All lines of a request; the child is ended when the last was taken.

    Raises:
        RayRefused: see `RayChild.lines`.

    """
    with RayChild(request, python, environ) as child:
        yield from child.lines()
