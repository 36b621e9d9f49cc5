"""What of a rehearsal would reach beyond it: files that were there, remote addresses, uploads.

Audit events are Python's own (https://docs.python.org/3/library/audit_events.html): they see what Python code opens,
removes and connects to. Where an overlay holds every write, files are nobody's business here.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
import stat
import sys
import types
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import PassSettings

#: events that change what is named by their first argument; of a rename the second is overwritten
_REMOVING = frozenset({"os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"})
_MOVING = frozenset({"os.rename", "shutil.move"})
_WRITING = os.O_WRONLY | os.O_RDWR
#: files that every program writes and nobody owns
_NOBODYS = ("/dev/", "/proc/", "/sys/")
#: how names of the hub's client begin that change something there
#: https://huggingface.co/docs/huggingface_hub/package_reference/hf_api
_CHANGING = (
    "accept_", "add_", "batch_", "cancel_", "change_", "comment_", "copy_", "create_", "delete_", "disable_",
    "duplicate_", "edit_", "enable_", "grant_", "hide_", "like", "merge_", "move_", "pause_", "permanently_",
    "preupload_", "reject_", "rename_", "request_", "rerun_", "restart_", "resume_", "run_job", "run_uv_job", "scale_",
    "set_", "super_squash_", "suspend_", "sync_", "trigger_", "unlike", "update_", "upload_",
)  # fmt: skip
#: functions that write by a library in another language: name, place and name of the path
_SAVING = (("save", 1, "f"), ("serialize_file", 1, "filename"))
#: classes that push what they are
_PUSHED = ("PushToHubMixin", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")


class RefusedError(PermissionError):
    """A rehearsal does not overwrite or delete what was there before it."""


class OfflineError(ConnectionRefusedError):
    """A rehearsal with `--offline` contacts nobody."""


def watch(settings: PassSettings) -> None:
    """Look on at files and connections of this process from now on."""
    own = (str(settings.root), *_NOBODYS)
    _Watched.look = look = _Looking(settings, own)
    sys.addaudithook(look.at)


def saves(module: Any) -> None:
    """Have what is saved by code in other languages, of which Python has no audit event, refused like what it opens.

    https://github.com/pytorch/pytorch/blob/v2.9.0/torch/serialization.py: a path goes to a writer in C++
    https://github.com/huggingface/safetensors/blob/v0.6.2/bindings/python/src/lib.rs: `serialize_file`
    """
    look = _Watched.look
    if look is None or look.held:
        return
    for name, place, key in _SAVING:
        original = getattr(module, name, None)
        if callable(original):
            setattr(module, name, _not_over(original, look, place, key))


def _not_over(original: Any, look: _Looking, place: int, key: str) -> Any:
    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        look.writes(args[place] if len(args) > place else kwargs.get(key))
        return original(*args, **kwargs)

    return save


class _Watched:
    look: ClassVar[Optional[_Looking]] = None


class _Looking:
    def __init__(self, settings: PassSettings, own: tuple[str, ...]) -> None:
        self._settings, self._own = settings, own
        self._inside = False

    @property
    def held(self) -> bool:
        """Whether an overlay holds every write, so that files are nobody's business here."""
        return self._settings.held

    def writes(self, path: Any) -> None:
        """What a library is about to write; raises what refuses it. Anything that is no path goes on."""
        self._change(path, "overwrite")

    def at(self, event: str, args: tuple[Any, ...]) -> None:
        """One event; raises what refuses it."""
        if event == "socket.connect":
            self._connect(args)
        elif not self._settings.held:
            if event == "open":
                if len(args) > 2 and isinstance(args[2], int) and args[2] & _WRITING:
                    self._change(args[0], "overwrite")
            elif event in _REMOVING:
                self._change(args[0], "delete", args[1] if len(args) > 1 else None)
            elif event in _MOVING:
                folders = args[2:4] if len(args) > 3 else (None, None)
                self._change(args[0], "move", folders[0])
                self._change(args[1], "overwrite", folders[1])

    def _change(self, path: Any, what: str, folder: Any = None) -> None:
        """Refuse a change of what was there before the rehearsal began; `folder`: what a path is relative to."""
        if self._inside or not isinstance(path, (str, bytes, os.PathLike)):
            return
        text = os.fsdecode(path)
        if isinstance(folder, int) and folder >= 0:
            text = os.path.join(os.path.realpath(f"/proc/self/fd/{folder}"), text)
        text = os.path.abspath(text)
        if text.startswith(self._own):
            return
        self._inside = True
        try:
            before = self._was_there(text)
            if before:
                journal.once("refused", text, path=text, what=what)
        finally:
            self._inside = False
        if before:
            raise RefusedError(1, f"the rehearsal may not {what} what was there before it", text)

    def _was_there(self, path: str) -> bool:
        try:
            status = os.lstat(path)
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            return status.st_ctime_ns < self._settings.began_ns
        with os.scandir(path) as entries:  # a folder changes with what is made in it
            return any(self._was_there(each.path) for each in entries)

    def _connect(self, args: tuple[Any, ...]) -> None:
        address = args[1] if len(args) > 1 else None
        if not isinstance(address, tuple) or not address or not isinstance(address[0], str):
            return
        host, port = address[0], address[1] if len(address) > 1 else None
        if (_known(host), port) in _Forbidden.addresses:
            journal.once("contacted", f"{host}:{port}", host=host, port=port, by=_caller(), refused=True)
            raise OfflineError(111, f"the rehearsal never contacts a server that is running: {host}:{port}")
        if is_local(host):
            return
        journal.once("contacted", f"{host}:{port}", host=host, port=port, by=_caller(), refused=self._settings.offline)
        if self._settings.offline:
            raise OfflineError(111, f"the rehearsal is offline and contacts no server: {host}:{port}")


class _Forbidden:
    addresses: ClassVar[set[tuple[str, Any]]] = set()


def forbid(host: str, port: int) -> None:
    """Let this process not reach an address any more: a server of the user's that must stay as it is."""
    _Forbidden.addresses.add((_known(host), port))
    with suppress(OSError):
        for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            _Forbidden.addresses.add((_known(str(each[4][0])), port))


def _known(host: str) -> str:
    """One name for all of this machine's own addresses that stand for loopback."""
    return "localhost" if is_local(host) else host


def is_local(host: str) -> bool:
    """Whether an address is this machine's own."""
    if host in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _caller() -> str:
    """The user's own frame below a connection: the innermost that belongs to no package."""
    frame: Any = sys._getframe(3)  # noqa: SLF001 - documented
    while frame is not None:
        file = frame.f_code.co_filename
        if "-packages" not in file and "/lib/python" not in file and not file.startswith("<"):
            return f"{Path(file).name}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""


def hub(module: Any) -> None:
    """Have nothing uploaded to the hub and nothing changed there.

    The module's own functions are methods that were bound when it was imported: they are bound anew.
    """
    owner = module.HfApi
    for name in dir(owner):
        if name.startswith(_CHANGING) and callable(getattr(owner, name)):
            setattr(owner, name, _not_uploaded(name, getattr(owner, name)))
            bound = getattr(module, name, None)
            if isinstance(bound, types.MethodType):
                setattr(module, name, getattr(bound.__self__, name))


def pushes(module: Any) -> None:
    """Have models, tokenizers and datasets not pushed, which collects files first and asks the hub what it has."""
    for name in _PUSHED:
        owner: Any = getattr(module, name, None)
        if owner is not None and callable(getattr(owner, "push_to_hub", None)):
            owner.push_to_hub = _not_uploaded("push_to_hub", owner.push_to_hub)


def _not_uploaded(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def refused(*args: Any, **kwargs: Any) -> Any:
        journal.left_out("hub", "uploads", call=name)
        told = _Nothing(_repository(args, kwargs))
        if not kwargs.get("run_as_future"):
            return told
        later: Any = Future()
        later.set_result(told)
        return later

    return refused


def _repository(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    named = kwargs.get("repo_id", args[1] if len(args) > 1 else "")
    return named if isinstance(named, str) else ""


class _Nothing(str):
    """What the hub answers to a change that nobody made: an address, whose parts are empty."""

    __slots__ = ()

    @property
    def repo_id(self) -> str:
        """Name of the repository."""
        return str(self)

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return ""


def trackers(module: Any) -> None:
    """Have what is logged go nowhere beyond the rehearsal, also where the program names a mode or an address itself.

    What a program says comes before what the environment says.
    https://docs.wandb.ai/ref/python/init  https://docs.swanlab.cn/en/api/cli-swanlab-disabled.html
    https://mlflow.org/docs/latest/python_api/mlflow.html  https://huggingface.co/docs/trackio/v0.27.0/api
    """
    if module.__name__ == "mlflow":
        for name in ("set_tracking_uri", "set_registry_uri"):
            setattr(module, name, lambda *_, **__: journal.left_out("trackers", "trackers"))
        return
    always, given = ({}, _PLACES) if module.__name__ == "trackio" else (_DISABLED, ())
    if callable(getattr(module, "init", None)):
        module.init = _elsewhere(module.init, always, given)
    if callable(getattr(module, "login", None)):
        module.login = _not_logged_in(module.login)


#: of a tracker's `init`: what disables a run, and where it would be put
_DISABLED, _PLACES = {"mode": "disabled"}, ("space_id", "dataset_id", "server_url")


def _elsewhere(original: Any, always: dict[str, Any], places: Sequence[str]) -> Any:
    @functools.wraps(original)
    def init(*args: Any, **kwargs: Any) -> Any:
        journal.left_out("trackers", "trackers")
        kept = {name: each for name, each in kwargs.items() if name not in places}
        return original(*args, **{**kept, **always})

    return init


def _not_logged_in(original: Any) -> Any:
    @functools.wraps(original)
    def login(*_: Any, **__: Any) -> bool:
        return True

    return login
