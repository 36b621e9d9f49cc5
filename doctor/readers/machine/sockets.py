"""Who listens on this machine, and small questions to an address, with time-outs and without proxies."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from doctor.base.deadline import within
from doctor.base.record import record
from doctor.facts.network import Listener

_LISTEN = "0A"  # TCP_LISTEN, include/net/tcp_states.h
#: FIN_WAIT1, FIN_WAIT2, TIME_WAIT, LAST_ACK, CLOSING: this side has closed, the kernel keeps the address for a while
_CLOSED = frozenset({"04", "05", "06", "09", "0B"})
_MAX_REPLY = 8192
_OWNER_SCAN_S = 0.25


def listeners(interesting: Iterable[int], proc: Path = Path("/proc")) -> dict[int, Listener]:
    """All listening TCP ports; the process behind those of `interesting`, where it may be seen.

    Ports are read from /proc/net, which needs no rights; naming a process means to look into every process's open
    files, so it is done for the few ports that matter, and given up after a quarter of a second.
    """
    found: dict[int, tuple[str, int]] = {}
    for name in ("tcp", "tcp6"):
        for port, address, inode in _bound(proc / "self" / "net" / name, {_LISTEN}):
            if port not in found or address in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
                found[port] = address, inode
    wanted = {inode: port for port, (_, inode) in found.items() if port in set(interesting)}
    owners = _owners(set(wanted), proc) if wanted else {}
    return {
        port: Listener(port, address, *owners.get(inode, (None, None)))
        for port, (address, inode) in sorted(found.items())
    }


def lingering(interesting: Iterable[int], proc: Path = Path("/proc")) -> tuple[int, ...] | None:
    """Those ports of this machine from which IPv4 connections that a process has closed are still held by the kernel.

    bind(2) without SO_REUSEADDR fails there with EADDRINUSE (socket(7)). None: the kernel's table could not be read.
    """
    wanted, tables = set(interesting), [proc / "self" / "net" / name for name in ("tcp", "tcp6")]
    if not any(os.access(table, os.R_OK) for table in tables):
        return None
    if not wanted:
        return ()
    closed = (row for table in tables for row in _bound(table, _CLOSED))
    return tuple(sorted({port for port, address, _ in closed if port in wanted and "." in address}))


def _bound(table: Path, states: Collection[str]) -> Iterable[tuple[int, str, int]]:
    """(port, local address, inode) of the sockets in `states`, of a table as proc_net_tcp describes it."""
    try:
        lines = table.read_text("ascii", "replace").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[3] in states:
            address, _, port = fields[1].partition(":")
            yield int(port, 16), _address(address), int(fields[9])


def _address(text: str) -> str:
    """Decode an address of /proc/net: 32-bit words in the machine's byte order."""
    words = [int(text[start : start + 8], 16).to_bytes(4, "little") for start in range(0, len(text), 8)]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words))


def _owners(inodes: set[int], proc: Path) -> dict[int, tuple[int, str | None]]:
    """Inode of a socket -> (pid, name) for processes whose files may be read."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, tuple[int, str | None]] = {}
    deadline = time.monotonic() + _OWNER_SCAN_S
    for pid in [name for name in _names(proc) if name.isdigit()]:
        if len(found) == len(inodes) or time.monotonic() > deadline:
            break
        for name in _names(proc / pid / "fd"):
            try:
                inode = links.get(os.readlink(f"{proc}/{pid}/fd/{name}"))  # noqa: PTH115 - thousands of them
            except OSError:
                continue
            if inode is not None and inode not in found:
                found[inode] = int(pid), _process_name(proc / pid)
    return found


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


def _process_name(folder: Path) -> str | None:
    try:
        return (folder / "comm").read_text("utf-8", "replace").strip() or None
    except OSError:
        return None


def resolve(host: str) -> tuple[str, ...]:
    """Addresses of a name, () when there is none. May hang as long as the name servers let it."""
    try:
        # the tables of international names are read only for one
        answers = socket.getaddrinfo(host.encode() if host.isascii() else host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


def connects(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether a TCP connection is accepted in time."""

    def attempt() -> bool:
        with socket.create_connection((host, port), timeout=timeout_s):
            return True

    return within(timeout_s * 1.5, attempt)[1] is True


def knock(host: str, port: int, timeout_s: float = 1.5) -> str:
    """What becomes of a TCP connection: "accepted", "refused", "timed out" or "unreachable". connect(2)."""
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except ConnectionRefusedError:
        return "refused"
    except (TimeoutError, socket.timeout):  # noqa: UP041 - before Python 3.10 they are two
        return "timed out"
    except OSError:
        return "unreachable"
    return "accepted"


@record
class Reply:
    """Status and beginning of the body of an HTTP answer; `date` as its head states it, "" where it does not."""

    status: int
    body: str
    date: str = ""

    def object(self) -> dict[str, Any]:
        """The JSON object of a success, {} where it is none."""
        if self.status != 200:
            return {}
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def has(self, key: str) -> bool:
        """Whether it is a success whose body is a JSON object with `key`."""
        return key in self.object()


def get(host: str, port: int, path: str, *, tls: bool = False, timeout_s: float = 1.0) -> Reply | None:
    """GET without proxy, redirects or urllib; None when no HTTP answer came in time."""
    deadline = time.monotonic() + timeout_s
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as raw:
            connection = _secured(raw, host) if tls else raw
            name = f"[{host}]" if ":" in host else host
            request = f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\nAccept: */*\r\n\r\n"
            connection.sendall(request.encode("ascii", "replace"))
            data = b""
            while len(data) < _MAX_REPLY and not _is_whole(data):
                connection.settimeout(max(0.01, deadline - time.monotonic()))
                part = connection.recv(_MAX_REPLY)
                if not part:
                    break
                data += part
    except (OSError, UnicodeError):
        return None
    head, _, body = data.decode("utf-8", "replace").partition("\r\n\r\n")
    match = re.match(r"HTTP/\d\.\d (\d{3})", head)
    date = re.search(r"(?i)\r\ndate: *([^\r\n]{1,60})", head)
    return Reply(int(match.group(1)), body, date.group(1) if date else "") if match else None


def _is_whole(data: bytes) -> bool:
    """Whether the body is there, for servers that keep the connection open all the same."""
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return length is not None and b"\r\n\r\n" in data and len(body) >= int(length.group(1))


def _secured(raw: socket.socket, host: str) -> socket.socket:
    """TLS without checking the certificate: the question is who answers, and nothing is told to it."""
    import ssl

    settings = ssl.create_default_context()
    settings.check_hostname = False
    settings.verify_mode = ssl.CERT_NONE
    return settings.wrap_socket(raw, server_hostname=host)
