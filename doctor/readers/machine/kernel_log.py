"""Xids in the kernel's message buffer, where this user may read it.

An Xid is the driver's report of a GPU error: `NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off
the bus.` https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

import os
import re
import time
from typing import Optional

from doctor.base.patterns import later
from doctor.base.redact import redact_text

_READ_ALL = 3  # SYSLOG_ACTION_READ_ALL, syslog(2): does not empty the buffer
_BUFFER_SIZE = 10  # SYSLOG_ACTION_SIZE_BUFFER
_MAX_BYTES = 16 << 20
_DEVICE_SECONDS = 0.2
_MAX_XIDS = 200
_LINE_CHARACTERS = 300

# with and without the PCI function, and the older form with a GPU number instead of an address
_XID = later(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)")

Xid = tuple[Optional[str], int, str]  # Python 3.9


def read_xids() -> tuple[Xid, ...] | None:
    """(PCI address or None, Xid, message) of each Xid since boot, oldest first; None where it may not be read."""
    text = _from_syslog()
    if text is None:
        text = _from_device()
    return None if text is None else find_xids(text)


def find_xids(text: str) -> tuple[Xid, ...]:
    """Xids in kernel messages."""
    found: list[Xid] = []
    for line in text.splitlines():
        if "NVRM: Xid" not in line:
            continue
        match = _XID.search(line)
        if match:
            message = redact_text(line[match.start() :].strip())[:_LINE_CHARACTERS]
            found.append((pci_address(match.group(1)), int(match.group(2)), message))
    return tuple(found[-_MAX_XIDS:])


def pci_address(text: str) -> str | None:
    """`0000:3b:00` or `00000000:3B:00.0` as `0000:3b:00.0`; None when it is none."""
    match = re.fullmatch(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-9a-f]))?", text.lower())
    if match is None:
        return None
    domain, bus, slot, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{slot}.{function or '0'}"


def _from_syslog() -> str | None:
    """The whole buffer in one system call: half a millisecond, against thousands of reads of /dev/kmsg."""
    try:
        import ctypes

        klogctl = ctypes.CDLL(None, use_errno=True).klogctl
        size = klogctl(_BUFFER_SIZE, None, 0)
        if size <= 0:
            return None
        buffer = ctypes.create_string_buffer(min(size, _MAX_BYTES))
        length = klogctl(_READ_ALL, buffer, len(buffer))
    except (OSError, AttributeError, ImportError):
        return None
    return buffer.raw[:length].decode("utf-8", "replace") if length >= 0 else None


def _from_device() -> str | None:
    """The buffer record by record, without waiting for new ones."""
    try:
        device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    records: list[bytes] = []
    deadline = time.monotonic() + _DEVICE_SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                record = os.read(device, 8192)
            except BrokenPipeError:  # overwritten while being read: the next read goes on
                continue
            except BlockingIOError:  # the end
                break
            if not record:
                break
            records.append(record)
    except OSError:
        return None
    finally:
        os.close(device)
    return b"\n".join(records).decode("utf-8", "replace")
