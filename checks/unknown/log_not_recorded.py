"""Judges log-not-recorded (UNK004), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.unrecognised import Unknown
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: what the system's error tells (https://man7.org/linux/man-pages/man3/errno.3.html), as messages
_TOLD = {
    "full": ("ENOSPC",),
    "quota": ("EDQUOT",),
    "limit": ("EFBIG",),
    "read_only": ("EROFS",),
    "gone": ("ENOENT", "ENOTDIR"),
    "device": ("EIO", "ENXIO", "ENODEV", "EREMOTEIO", "EUCLEAN", "EBADMSG"),
    "server": (
        "ESTALE", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "ECONNREFUSED",
        "ECONNRESET", "ECONNABORTED", "ESHUTDOWN", "ENOLINK", "ECOMM",
    ),
    "slow": ("EAGAIN",),
}  # fmt: skip
_MESSAGES = {reason: TOML[name] for name, reasons in _TOLD.items() for reason in reasons}
_COMMANDS = {
    "full": ("df -h {folder}", "df -i {folder}"),
    "quota": ("quota -s",),
    "limit": ("ulimit -f",),
    "gone": ("ls -ld {folder}",),
}
_ANY = ("df -h {folder}", "dmesg -T | tail -n 30")


def answer(unknown: Unknown) -> Finding | None:
    """Say why the log lacks its end, where no failure stands in the part that there is."""
    missing = unknown.unrecorded
    if missing is None or unknown.kind == "exception":
        return None
    told = Observed.quoted(missing.told_by, f"console: {missing.reason}, {missing.lost_bytes} bytes not recorded")
    message = _MESSAGES.get(missing.reason, TOML["other"])
    commands = next((_COMMANDS[each] for each in _COMMANDS if missing.reason in _TOLD[each]), _ANY)
    return found(
        PROBLEM, message, where=unknown.where, evidence=(told, *unknown.evidence), confidence=LIKELY,
        commands=tuple(each.format(folder=shlex.quote(missing.folder)) for each in commands),
        reason=missing.reason, lines=missing.lost_lines, folder=missing.folder,
    )  # fmt: skip
