"""What the open files of processes lead to: the other end of a socket or pipe, and the process that holds it.

TCP: the two ends of a connection on one machine are two rows of /proc/net/tcp with the addresses exchanged
(https://docs.kernel.org/networking/proc_net_tcp.html); a connection that nobody has accepted yet belongs to the
listener of its port. Sockets of the file system, and how long ago data went either way, are asked of the kernel by
NETLINK_SOCK_DIAG (https://man7.org/linux/man-pages/man7/sock_diag.7.html): `tcpi_last_data_sent` and
`tcpi_last_data_recv` are milliseconds.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from doctor.base.record import record
from doctor.mend.processes.table import PROC

_MOST_FILES = 4096
_SOCKET, _PIPE = re.compile(r"^socket:\[(\d+)\]$"), re.compile(r"^pipe:\[(\d+)\]$")
_ESTABLISHED, _LISTEN = "01", "0A"  # include/net/tcp_states.h
_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301  # include/uapi/linux/sock_diag.h, NLM_F_REQUEST | NLM_F_DUMP
_INET_DIAG_INFO, _UNIX_DIAG_PEER, _SHOW_PEER = 2, 2, 4
#: offsets of tcpi_last_data_sent and tcpi_last_data_recv in struct tcp_info (include/uapi/linux/tcp.h)
_SENT_AT, _RECEIVED_AT = 44, 52
_WRITES = 3  # O_ACCMODE; 0 is O_RDONLY

Address = tuple[str, int]


@record
class Connection:
    """An established TCP connection as one end has it."""

    local: Address
    remote: Address
    inode: int
    sent_s: float | None = None
    received_s: float | None = None

    @property
    def asked(self) -> bool:
        """Whether the last word was this end's: it asked, and nothing came since."""
        return self.sent_s is not None and self.received_s is not None and self.sent_s + 0.001 < self.received_s


@record
class Files:
    """Open files of some processes.

    Args:
        sockets, pipes: process -> file number -> inode.
        writers: inode of a pipe -> processes that can write to it; `readers`: those that can read.
        connections: inode -> TCP connection; `listeners`: port -> inode of the socket that listens.
        peers: inode of a socket of the file system -> that of its other end.
        owners: inode of a socket -> processes that hold it.

    """

    sockets: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    pipes: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    writers: Mapping[int, frozenset[int]] = field(default_factory=dict)
    readers: Mapping[int, frozenset[int]] = field(default_factory=dict)
    connections: Mapping[int, Connection] = field(default_factory=dict)
    listeners: Mapping[int, int] = field(default_factory=dict)
    peers: Mapping[int, int] = field(default_factory=dict)
    owners: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def other_end(self, connection: Connection) -> frozenset[int]:
        """Processes at the other end of a connection; empty where that is not on this machine, or not visible."""
        for each in self.connections.values():
            if each.local == connection.remote and each.remote == connection.local:
                return self.owners.get(each.inode) or self.listening(connection.remote[1])
        return frozenset()

    def listening(self, port: int) -> frozenset[int]:
        """Processes that listen at a port."""
        return self.owners.get(self.listeners.get(port, -1), frozenset())

    def is_server(self, pid: int, connection: Connection) -> bool:
        """Whether a process has accepted a connection rather than opened it."""
        return pid in self.listening(connection.local[1])


def files_of(pids: Iterable[int], proc: Path = PROC) -> Files:
    """Open files of processes, as far as they may be seen."""
    sockets: dict[int, dict[int, int]] = {}
    pipes: dict[int, dict[int, int]] = {}
    writers: dict[int, set[int]] = {}
    readers: dict[int, set[int]] = {}
    owners: dict[int, set[int]] = {}
    for pid in pids:
        for number, target in _links(pid, proc):
            if match := _SOCKET.match(target):
                sockets.setdefault(pid, {})[number] = int(match[1])
                owners.setdefault(int(match[1]), set()).add(pid)
            elif match := _PIPE.match(target):
                inode = int(match[1])
                pipes.setdefault(pid, {})[number] = inode
                ends = writers if _can_write(pid, number, proc) else readers
                ends.setdefault(inode, set()).add(pid)
    connections, listeners = _tables(proc)
    return Files(
        sockets, pipes, _frozen(writers), _frozen(readers), _timed(connections), listeners, _unix_peers(),
        _frozen(owners),
    )  # fmt: skip


def _frozen(found: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
    return {key: frozenset(each) for key, each in found.items()}


def _links(pid: int, proc: Path) -> Iterable[tuple[int, str]]:
    folder = f"{proc}/{pid}/fd"
    try:
        names = os.listdir(folder)[:_MOST_FILES]  # noqa: PTH208 - thousands of them
    except OSError:
        return
    for name in names:
        try:
            yield int(name), os.readlink(f"{folder}/{name}")  # noqa: PTH115
        except OSError:  # closed meanwhile
            continue


def _can_write(pid: int, number: int, proc: Path) -> bool:
    """Whether a file is open for writing, by its flags (octal, proc_pid_fdinfo(5))."""
    try:
        text = (proc / str(pid) / "fdinfo" / str(number)).read_text("ascii", "replace")
        flags = next(line.split()[1] for line in text.splitlines() if line.startswith("flags:"))
        return bool(int(flags, 8) & _WRITES)
    except (OSError, StopIteration, ValueError, IndexError):
        return True


def _tables(proc: Path) -> tuple[dict[int, Connection], dict[int, int]]:
    """Connections by inode, or by a number below 0 where nobody has accepted them yet; and listeners by port."""
    connections: dict[int, Connection] = {}
    listeners: dict[int, int] = {}
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "self" / "net" / name).read_text("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if len(columns) < 10:
                continue
            local, remote, inode = _address(columns[1]), _address(columns[2]), int(columns[9])
            if columns[3] == _LISTEN:
                listeners.setdefault(local[1], inode)
            elif columns[3] == _ESTABLISHED:
                key = inode or -len(connections) - 1
                connections[key] = Connection(local, remote, key)
    return connections, listeners


def _address(text: str) -> Address:
    """Decode an address of /proc/net: 32-bit words in the machine's byte order; mapped ones as what they map."""
    address, _, port = text.partition(":")
    words = [int(address[start : start + 8], 16).to_bytes(4, "little") for start in range(0, len(address), 8)]
    if len(words) == 4 and words[0] == words[1] == bytes(4) and words[2] == b"\0\0\xff\xff":
        words = words[3:]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words)), int(port, 16)


def _timed(connections: dict[int, Connection]) -> dict[int, Connection]:
    """The connections with the seconds since data went either way, where the kernel tells them."""
    times: dict[tuple[Address, Address], tuple[float, float]] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 1 << 1)
        for body in _asked(request):
            key = _of_diag(body, family)
            info = dict(_attributes(body[72:])).get(_INET_DIAG_INFO, b"")
            if len(info) >= _RECEIVED_AT + 4:
                sent, received = (struct.unpack_from("=I", info, at)[0] / 1000 for at in (_SENT_AT, _RECEIVED_AT))
                times[key] = (sent, received)
    return {
        inode: Connection(each.local, each.remote, inode, *times.get((each.local, each.remote), (None, None)))
        for inode, each in connections.items()
    }


def _of_diag(body: bytes, family: int) -> tuple[Address, Address]:
    """Both ends of `struct inet_diag_msg` (include/uapi/linux/inet_diag.h)."""
    ports = struct.unpack_from("!HH", body, 4)
    size = 4 if family == socket.AF_INET else 16
    ends = []
    for at, port in zip((8, 24), ports, strict=True):
        raw = body[at : at + size]
        if size == 16 and raw[:12] == bytes(10) + b"\xff\xff":
            ends.append((socket.inet_ntop(socket.AF_INET, raw[12:]), port))
        else:
            ends.append((socket.inet_ntop(family, raw), port))
    return ends[0], ends[1]


def _unix_peers() -> dict[int, int]:
    """Inode of a connected socket of the file system -> that of its other end."""
    request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_PEER, 0xFFFFFFFF, 0xFFFFFFFF)
    found = {}
    for body in _asked(request):
        inode = struct.unpack_from("=I", body, 4)[0]
        peer = dict(_attributes(body[16:])).get(_UNIX_DIAG_PEER, b"")
        if len(peer) >= 4:
            found[inode] = struct.unpack_from("=I", peer)[0]
    return found


def _asked(request: bytes) -> Iterable[bytes]:
    """Bodies of the kernel's answers to one dump; none where it does not answer."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
            link.settimeout(1.0)
            link.sendto(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, _DUMP, 1, 0) + request, (0, 0))
            while True:
                data = link.recv(1 << 18)
                while len(data) >= 16:
                    length, kind = struct.unpack_from("=IH", data)
                    if kind != _BY_FAMILY or length < 16:  # NLMSG_DONE, NLMSG_ERROR
                        return
                    yield data[16:length]
                    data = data[(length + 3) & ~3 :]
    except (OSError, AttributeError):
        return


def _attributes(data: bytes) -> Iterable[tuple[int, bytes]]:
    """(kind, content) of netlink attributes."""
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield kind, data[4:length]
        data = data[(length + 3) & ~3 :]
