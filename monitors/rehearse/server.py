"""A vLLM server of the rehearsal's own, in the place of the user's: on loopback, with ports that nobody else has.

The user's server is never contacted: an update would load random weights into it. TRL's client is given another address
and runs unchanged; whatever else of the program wants to reach the user's address is refused. NCCL refuses two ranks on
one card, so that a server needs one that no rank trains on.
https://github.com/huggingface/trl/blob/v0.17.0/trl/extras/vllm_client.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
https://github.com/huggingface/trl/blob/v0.17.0/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

import functools
import http.client
import inspect
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn, Optional
from urllib.parse import urlparse

from doctor.monitors.rehearse import journal, models, names, outside
from doctor.monitors.rehearse.loops import RehearsalOver
from doctor.monitors.rehearse.settings import settings

_HOST, _LOOK_EVERY_S = "127.0.0.1", 0.5
#: share of the deadline in which a server must be up
_SHARE = 0.5
#: of the card, for a tiny model
_MEMORY = "0.2"
LOG = "engine-server.log"


class _Own:
    process: Optional[subprocess.Popen[bytes]] = None
    port = group = 0


def instead(args: Any) -> str:
    """Lead a trainer's arguments away from the user's server; why there can be none of our own, "" where there can.

    Args:
        args: of a trainer whose `vllm_mode` is `server`.

    """
    for host, port in _addresses(args):
        outside.forbid(host, port)
    if spare_card() is None:
        return "server"
    _Own.port, _Own.group = _free_port(), _free_port()
    for name, value in (
        ("vllm_server_base_url", None), ("vllm_server_host", _HOST), ("vllm_server_port", _Own.port),
        ("vllm_group_port", _Own.group),
    ):  # fmt: skip
        if hasattr(args, name):
            setattr(args, name, value)
    return ""


def _addresses(args: Any) -> list[tuple[str, int]]:
    """Where the user's server listens: by its URL, else by host and port."""
    url = getattr(args, "vllm_server_base_url", None)
    if isinstance(url, str) and url:
        parsed = urlparse(url)
        return [(parsed.hostname or "localhost", parsed.port or (443 if parsed.scheme == "https" else 80))]
    return [(str(getattr(args, "vllm_server_host", _HOST)), int(getattr(args, "vllm_server_port", 8000)))]


def spare_card() -> Optional[str]:
    """The card that no rank of this machine trains on, as CUDA_VISIBLE_DEVICES names it; None where there is none."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
    count = int(torch.cuda.device_count())
    if count <= ranks:
        return None
    visible = [each.strip() for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    return visible[-1] if len(visible) == count else str(count - 1)


def clients(module: Any) -> None:
    """Have every client of TRL's talk to the server of our own."""
    original = module.VLLMClient.__init__
    parameters = inspect.signature(original).parameters

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = {
            name: value
            for name, value in inspect.signature(original).bind(self, *args, **kwargs).arguments.items()
            if name != "self"
        }
        with journal.phase("engine"):
            _serve()
            mine = {"host": _HOST, "server_port": _Own.port, "group_port": _Own.group}
            given.update({name: value for name, value in mine.items() if name in parameters})
            if "base_url" in parameters:
                given["base_url"] = f"http://{_HOST}:{_Own.port}"
            original(self, **given)

    module.VLLMClient.__init__ = init


def _serve() -> None:
    """Start the server where it does not run yet, and wait until it answers.

    Raises:
        RehearsalOver: it does not come up, which says nothing of the user's.

    """
    if _Own.process is not None:
        return
    try:
        _start()
    except Exception as error:  # noqa: BLE001 - no port, no process, no file: none of it the user's
        journal.crashed("server.serve")
        _give_up(f"{type(error).__name__}: {str(error)[:200]}")


def _start() -> None:
    model, program = models.policy(), _program()
    if program is None or model is None:
        _give_up("no program `trl`" if program is None else "no model was loaded before it")
    if not _Own.port:
        _Own.port, _Own.group = _free_port(), _free_port()
    words = [
        str(program), "vllm-serve", "--model", str(model), "--host", _HOST, "--port", str(_Own.port),
        "--gpu_memory_utilization", _MEMORY, "--enforce_eager", "true",
    ]  # fmt: skip
    variables = names.apart(dict(os.environ))
    card = spare_card()
    if card is not None:
        variables["CUDA_VISIBLE_DEVICES"] = card
    log = settings().root / LOG
    with log.open("wb") as file:
        _Own.process = subprocess.Popen(
            words, env=variables, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    _wait(log)
    journal.write("own_server", port=_Own.port, group_port=_Own.group, model=str(model))


def _wait(log: Path) -> None:
    process, until = _Own.process, time.monotonic() + settings().deadline_s * _SHARE
    assert process is not None  # noqa: S101 - for the type checker
    while time.monotonic() < until and process.poll() is None:
        if _answers():
            return
        time.sleep(_LOOK_EVERY_S)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    process.terminate()
    _give_up(said[-1][-300:] if said else "it said nothing")


def _answers() -> bool:
    """Whether the server is up; TRL's own has its address with a slash."""
    for path in ("/health", "/health/"):
        asking = http.client.HTTPConnection(_HOST, _Own.port, timeout=2)
        with suppress(OSError, http.client.HTTPException), closing(asking):
            asking.request("GET", path)
            if asking.getresponse().status == http.client.OK:
                return True
    return False


def _give_up(why: str) -> NoReturn:
    journal.left_out("engine", "own_server", error=why)
    raise RehearsalOver(0)


def _program() -> Optional[str]:
    """TRL's program, of the interpreter that trains."""
    beside = Path(sys.executable).with_name("trl")
    return str(beside) if beside.is_file() else shutil.which("trl")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((_HOST, 0))
        return int(one.getsockname()[1])
