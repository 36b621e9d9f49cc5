"""Network interfaces from the kernel itself: the import of psutil would cost more than all of this fact."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from pathlib import Path

from doctor.facts.network import Interface

_SIOCGIFCONF = 0x8912  # netdevice(7): all IPv4 addresses with the names of their interfaces
_REQUEST_BYTES = 40  # struct ifreq on 64-bit Linux: a name of 16 bytes, then a sockaddr
_MAX_ADDRESSES = 1024
_UP = 0x1  # IFF_UP


def interfaces(root: Path = Path("/")) -> tuple[Interface, ...]:
    """List the interfaces of this network name space by name."""
    version_4, version_6 = _version_4(), _version_6(root)
    found = []
    for _, name in socket.if_nameindex():
        folder = root / "sys/class/net" / name
        flags = _number(folder / "flags", 16)
        is_up = (flags is None or bool(flags & _UP)) and _text(folder / "operstate") != "down"
        speed = _number(folder / "speed", 10)  # -1, 0 or an error where the driver reports none
        addresses = (*version_4.get(name, ()), *version_6.get(name, ()))
        found.append(
            Interface(name, addresses, is_up, _number(folder / "mtu", 10), speed if speed and speed > 0 else None)
        )
    return tuple(sorted(found, key=lambda each: each.name))


def _version_4() -> dict[str, list[str]]:
    """Interface -> IPv4 addresses; an alias (eth0:1) counts for its interface."""
    buffer = array.array("B", bytes(_REQUEST_BYTES * _MAX_ADDRESSES))
    request = struct.pack("iL", len(buffer), buffer.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            answer = fcntl.ioctl(any_socket.fileno(), _SIOCGIFCONF, request)
    except OSError:
        return {}
    found: dict[str, list[str]] = {}
    data = buffer.tobytes()[: struct.unpack("iL", answer)[0]]
    for start in range(0, len(data), _REQUEST_BYTES):
        name = data[start : start + 16].split(b"\0", 1)[0].decode("utf-8", "replace").partition(":")[0]
        found.setdefault(name, []).append(socket.inet_ntoa(data[start + 20 : start + 24]))
    return found


def _version_6(root: Path) -> dict[str, list[str]]:
    """Interface -> IPv6 addresses, from a table of "address index prefix scope flags name"."""
    found: dict[str, list[str]] = {}
    for line in (_text(root / "proc/self/net/if_inet6") or "").splitlines():
        fields = line.split()
        if len(fields) == 6 and len(fields[0]) == 32:
            address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[0]))
            found.setdefault(fields[5], []).append(address)
    return found


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


def _number(path: Path, base: int) -> int | None:
    try:
        return int(_text(path) or "", base)
    except ValueError:
        return None
