"""Becomes a command in a mount namespace of its own, where every write goes to a folder of the rehearsal.

A program that imports nothing of the doctor: SPECIFICATION -- COMMAND. Every mounted file system that can be written
gets an overlay (https://docs.kernel.org/filesystems/overlayfs.html) whose upper layer lies in the rehearsal's folder;
that folder itself is bound through. Nothing is mounted for anybody else: the namespace ends with its last process.
A user without privileges needs a user namespace for it, in which their own id stays what it is.
https://man7.org/linux/man-pages/man7/user_namespaces.7.html
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_BIND, _REC, _PRIVATE, _REMOUNT, _READ_ONLY, _DETACH = 4096, 16384, 1 << 18, 32, 1, 2
#: file systems of the kernel's own, and those in memory that programs meet in
_VIRTUAL = frozenset(
    {
        "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "securityfs", "debugfs", "tracefs",
        "bpf", "pstore", "hugetlbfs", "configfs", "fusectl", "binfmt_misc", "nsfs", "autofs", "rpc_pipefs", "efivarfs",
    }
)  # fmt: skip
_SHARED = ("/dev", "/proc", "/sys", "/run")
#: what `try` says when the namespace can be made
HELD = "held"

_libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    """Enter the namespace and become the command; `try` in the place of a command only says whether it can be."""
    specification = json.loads(words[0])
    command = words[words.index("--") + 1 :]
    _enter(specification)
    if command == ["try"]:
        sys.stdout.write(HELD)
        return
    os.chdir(specification["cwd"])
    try:
        os.execvp(command[0], command)  # noqa: S606 - the user's own command
    except FileNotFoundError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        os._exit(127)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        os._exit(126)


def _enter(specification: dict[str, str]) -> None:
    """Make the namespace with its overlays, and go into its root.

    Raises:
        OSError: the system does not permit it.

    """
    user, group = os.getuid(), os.getgid()
    try:
        _call("unshare", _NEWNS)
    except OSError:
        _call("unshare", _NEWUSER | _NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    _mount("none", "/", None, _REC | _PRIVATE, None)
    root = specification["root"]
    own = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        merged = _whole(os.path.join(specification["layers"], "whole"))
    except OSError:  # a user's own namespace may not take a file system that has others mounted on it as one layer
        merged = _pieces(os.path.join(specification["layers"], "pieces"))
    _mount(f"/proc/self/fd/{own}", merged + root, None, _BIND, None)
    os.close(own)
    os.chroot(merged)
    os.chdir("/")


def _whole(layers: str) -> str:
    """A root in which every file system has an overlay; its path."""
    merged = os.path.join(layers, "merged")
    os.makedirs(merged, exist_ok=True)
    for number, (path, kind) in enumerate(list(_mounts())):
        target = merged if path == "/" else merged + path
        if path == "/" or os.path.isdir(target):
            _placed(path, kind, target, os.path.join(layers, str(number)))
    return merged


def _placed(path: str, kind: str, target: str, layer: str) -> None:
    """Put what lies at a path there as it is, or under an overlay where it can be written."""
    if kind in _VIRTUAL or kind == "ro" or path in _SHARED or path.startswith(tuple(f"{each}/" for each in _SHARED)):
        _mount(path, target, None, _BIND | _REC, None)
    else:
        _overlay(path, target, layer)


def _pieces(layers: str) -> str:
    """A root of as many overlays as there are folders without a mount below them; its path.

    https://github.com/torvalds/linux/blob/v6.12/fs/namespace.c: `clone_private_mount` refuses locked children.
    """
    merged = os.path.join(layers, "merged")
    os.makedirs(merged, exist_ok=True)
    mounts = dict(_mounts())  # before there is one of our own
    _mount("tmpfs", merged, "tmpfs", 0, "mode=755")
    left, number = ["/"], 0
    while left:
        folder = left.pop()
        for entry in os.scandir(folder):
            target, number = merged + entry.path, number + 1
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
            elif not entry.is_dir():
                _read_only(entry.path, target)
            else:
                os.mkdir(target)
                if entry.path not in _SHARED and any(each.startswith(f"{entry.path}/") for each in mounts):
                    left.append(entry.path)
                else:
                    _placed(entry.path, mounts.get(entry.path, ""), target, os.path.join(layers, str(number)))
    return merged


def _read_only(path: str, target: str) -> None:
    """Show a file that lies beside mounts; nobody may write it, and where that cannot be had it is left out."""
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    try:
        _mount(path, target, None, _BIND, None)
        _mount(path, target, None, _BIND | _REMOUNT | _READ_ONLY, None)
    except OSError:
        _libc.umount2(target.encode(), _DETACH)


def _overlay(lower: str, target: str, layer: str) -> None:
    upper, work = os.path.join(layer, "upper"), os.path.join(layer, "work")
    os.makedirs(upper, exist_ok=True)
    os.makedirs(work, exist_ok=True)
    status = os.stat(lower)
    mode = status.st_mode & 0o7777
    os.chmod(upper, mode if os.access(lower, os.W_OK) else mode & ~0o222)
    options = f"lowerdir={_escaped(lower)},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    try:
        _mount("overlay", target, "overlay", 0, f"{options},userxattr")
    except OSError:
        _mount("overlay", target, "overlay", 0, options)


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _mounts() -> Iterator[tuple[str, str]]:
    """(mount point, kind) of what is mounted on folders, outer ones first; the kind is `ro` of what nobody writes."""
    seen: dict[str, str] = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            path = words[4].encode().decode("unicode_escape")
            seen[path] = "ro" if "ro" in words[5].split(",") else words[words.index("-") + 1]
    for path in sorted(seen, key=lambda each: (each.count("/") if each != "/" else 0, each)):
        inside = next((each for each in _SHARED if path.startswith(f"{each}/")), None)
        if (inside is None or inside not in seen) and os.path.isdir(path):
            yield path, seen[path]


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    _call(
        "mount", source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags),
        options and options.encode(),
    )  # fmt: skip


def _call(name: str, *args: object) -> None:
    if getattr(_libc, name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(args[1]) if len(args) > 1 else "")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
