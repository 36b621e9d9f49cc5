"""A file system of our own in memory that, from a point on, answers with an error number, or not at all.

Whoever writes to a failing device, a quota, or a network file system whose server has gone cannot be had on a machine
of tests, but their answers can: the kernel hands on whatever a FUSE server says. Needs root, or the right to mount.

The protocol: https://www.kernel.org/doc/html/latest/filesystems/fuse/fuse.html and
https://github.com/torvalds/linux/blob/master/include/uapi/linux/fuse.h
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_HEAD = struct.Struct("<IIQQIIIHH")
_ATTRIBUTES = struct.Struct("<6Q10I")
_DETACHED = 2  # MNT_DETACH
_LARGEST = 1 << 20
_ROOT = 1

#: requests that change something
WRITES = frozenset(
    {"setattr", "symlink", "mknod", "mkdir", "unlink", "rmdir", "rename", "rename2", "link", "write", "create"}
)
_NAMES = {
    1: "lookup", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod", 9: "mkdir", 10: "unlink",
    11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read", 16: "write", 17: "statfs", 18: "release",
    20: "fsync", 25: "flush", 26: "init", 27: "opendir", 28: "readdir", 29: "releasedir", 30: "fsyncdir", 35: "create",
    45: "rename2",
}  # fmt: skip
_UNANSWERED = {2, 36, 42}  # forget, interrupt, batch forget


class _Node:
    """A file, folder or link."""

    def __init__(self, mode: int, content: bytes = b"") -> None:
        self.mode, self.content, self.links = mode, bytearray(content), 1
        self.entries: dict[bytes, int] = {}
        self.changed_ns = time.time_ns()


class Disk:
    """Answers requests until one too many bytes has been written, and from then on with an error number.

    Args:
        number: the error; below zero, it does not answer for that many seconds, and then does again.
        after_bytes: how much is written well before it.
        everything: reading and looking fail as well; else only what changes something.
        attributes: they are still told, as a network file system's client keeps them for a while.

    """

    def __init__(self, number: int, after_bytes: int, *, everything: bool, attributes: bool = False) -> None:
        self._number, self._left, self._everything = number, after_bytes, everything
        self._spared = {"release", "releasedir", "init"} | ({"lookup", "getattr"} if attributes else set())
        self._nodes = {_ROOT: _Node(stat.S_IFDIR | 0o777)}

    def answer(self, request: bytes) -> bytes | None:
        """What the kernel is told; None where it wants no answer."""
        _, code, unique, node, *_ = _HEAD.unpack_from(request)
        if code in _UNANSWERED:
            return None
        name, body = _NAMES.get(code, ""), request[_HEAD.size :]
        try:
            told = self._told(name, node, body)
        except OSError as exc:
            return struct.pack("<IiQ", 16, -(exc.errno or errno.EIO), unique)
        return struct.pack("<IiQ", 16 + len(told), 0, unique) + told

    def _told(self, name: str, node: int, body: bytes) -> bytes:
        if name == "write":
            self._left -= struct.unpack_from("<I", body, 16)[0]
        if self._left < 0 and name not in self._spared and (self._everything or name in WRITES):
            if self._number >= 0:
                raise OSError(self._number, "")
            time.sleep(-self._number)
            self._left = sys.maxsize
        work: Callable[[int, bytes], bytes] | None = getattr(self, f"_on_{name}", None)
        if work is None:
            raise OSError(errno.ENOSYS, "")
        return work(node, body)

    def _on_init(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 9, _LARGEST // 2, 1, 0, 0, 0, *[0] * 7)

    def _attributes(self, number: int) -> bytes:
        node, (seconds, rest) = self._nodes[number], divmod(self._nodes[number].changed_ns, 10**9)
        size = len(node.content)
        return _ATTRIBUTES.pack(
            number, size, -(-size // 512), *[seconds] * 3, *[rest] * 3, node.mode, node.links, os.getuid(), os.getgid(),
            0, 4096, 0,
        )  # fmt: skip

    def _entry(self, number: int) -> bytes:
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self._attributes(number)

    def _found(self, folder: int, name: bytes) -> int:
        if name not in self._nodes[folder].entries:
            raise OSError(errno.ENOENT, "")
        return self._nodes[folder].entries[name]

    def _made(self, folder: int, name: bytes, node: _Node) -> int:
        if name in self._nodes[folder].entries:
            raise OSError(errno.EEXIST, "")
        number = max(self._nodes) + 1
        self._nodes[number] = node
        self._nodes[folder].entries[name] = number
        return number

    def _on_lookup(self, node: int, body: bytes) -> bytes:
        return self._entry(self._found(node, body.split(b"\0")[0]))

    def _on_getattr(self, node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attributes(node)

    def _on_setattr(self, node: int, body: bytes) -> bytes:
        valid, size, mode = (struct.unpack_from(form, body, at)[0] for form, at in (("<I", 0), ("<Q", 16), ("<I", 68)))
        file = self._nodes[node]
        if valid & 1:
            file.mode = stat.S_IFMT(file.mode) | stat.S_IMODE(mode)
        if valid & 8:
            file.content = file.content[:size].ljust(size, b"\0")
        return self._on_getattr(node, b"")

    def _on_mkdir(self, node: int, body: bytes) -> bytes:
        mode = struct.unpack_from("<I", body)[0]
        return self._entry(self._made(node, body[8:].split(b"\0")[0], _Node(stat.S_IFDIR | stat.S_IMODE(mode))))

    def _on_mknod(self, node: int, body: bytes) -> bytes:
        return self._entry(self._made(node, body[16:].split(b"\0")[0], _Node(struct.unpack_from("<I", body)[0])))

    def _on_create(self, node: int, body: bytes) -> bytes:
        mode = stat.S_IFREG | stat.S_IMODE(struct.unpack_from("<I", body, 4)[0])
        return self._entry(self._made(node, body[16:].split(b"\0")[0], _Node(mode))) + self._on_open(0, b"")

    def _on_symlink(self, node: int, body: bytes) -> bytes:
        name, target, *_ = body.split(b"\0")
        return self._entry(self._made(node, name, _Node(stat.S_IFLNK | 0o777, target)))

    def _on_readlink(self, node: int, _body: bytes) -> bytes:
        return bytes(self._nodes[node].content)

    def _on_unlink(self, node: int, body: bytes) -> bytes:
        name = body.split(b"\0")[0]
        self._nodes[self._found(node, name)].links -= 1
        del self._nodes[node].entries[name]
        return b""

    _on_rmdir = _on_unlink

    def _on_rename(self, node: int, body: bytes, at: int = 8) -> bytes:
        old, new, *_ = body[at:].split(b"\0")
        target = struct.unpack_from("<Q", body)[0]
        number = self._found(node, old)
        del self._nodes[node].entries[old]
        self._nodes[target].entries[new] = number
        return b""

    def _on_rename2(self, node: int, body: bytes) -> bytes:
        return self._on_rename(node, body, 16)

    def _on_open(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 1, 0)  # FOPEN_DIRECT_IO: the kernel keeps nothing, and asks us each time

    def _on_opendir(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def _on_read(self, node: int, body: bytes) -> bytes:
        at, size = struct.unpack_from("<QI", body, 8)
        return bytes(self._nodes[node].content[at : at + size])

    def _on_write(self, node: int, body: bytes) -> bytes:
        at, size = struct.unpack_from("<QI", body, 8)
        content = self._nodes[node].content
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + size] = body[40 : 40 + size]
        self._nodes[node].changed_ns = time.time_ns()
        return struct.pack("<II", size, 0)

    def _on_readdir(self, node: int, body: bytes) -> bytes:
        at, size = struct.unpack_from("<QI", body, 8)
        told = b""
        for place, (name, number) in enumerate(list(self._nodes[node].entries.items())[at:], at + 1):
            entry = struct.pack("<QQII", number, place, len(name), stat.S_IFMT(self._nodes[number].mode) >> 12) + name
            entry += bytes(-len(entry) % 8)
            if len(told) + len(entry) > size:
                break
            told += entry
        return told

    def _on_statfs(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<5Q4I6I", 10**6, 10**6, 10**6, 10**6, 10**6, 4096, 255, 4096, 0, *[0] * 6)

    def _nothing(self, _node: int, _body: bytes) -> bytes:
        return b""

    _on_release = _on_releasedir = _on_flush = _on_fsync = _on_fsyncdir = _nothing


def _serve(folder: str, number: int, after_bytes: int, *, everything: bool, attributes: bool) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    if library.mount(b"failing", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"mount is not permitted: {os.strerror(ctypes.get_errno())}")
    disk = Disk(number, after_bytes, everything=everything, attributes=attributes)
    os.write(1, b"ready\n")
    with contextlib.suppress(OSError):  # ENODEV: it was unmounted
        request = bytearray(_LARGEST)
        while length := os.readv(device, [request]):
            answer = disk.answer(bytes(memoryview(request)[:length]))
            if answer is not None:
                with contextlib.suppress(FileNotFoundError):  # whoever asked has been killed
                    os.write(device, answer)


@contextlib.contextmanager
def failing_disk(
    folder: Path, number: int, after_bytes: int, *, everything: bool, attributes: bool = False
) -> Iterator[str]:
    """Mount a `Disk` at a folder that exists; gives "", or why it cannot be."""
    told = (folder, number, after_bytes, int(everything), int(attributes))
    words = [sys.executable, __file__, *map(str, told)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield "" if server.stdout.readline() else server.communicate()[1].strip().rpartition("\n")[2]
    finally:
        ctypes.CDLL(None).umount2(str(folder).encode(), _DETACHED)
        server.kill()
        server.communicate()


if __name__ == "__main__":
    path, *given = sys.argv[1:]
    error, after, all_of_it, known = map(int, given)
    _serve(path, error, after, everything=bool(all_of_it), attributes=bool(known))
