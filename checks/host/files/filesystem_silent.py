"""Judges file-system-silent (HST008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.words import words_of
from doctor.facts.host import Host

TOML = words_of(__name__)
PROBLEM = TOML.problem
SILENT = TOML["silent"]
UNREADABLE = TOML["unreadable"]


@check(PROBLEM)
def filesystem_silent(host: Host) -> Judgement:
    """One finding a folder."""
    for disk in host.disks:
        if disk.error:
            yield found(
                PROBLEM,
                SILENT if "answer" in disk.error else UNREADABLE,
                path=disk.path,
                error=disk.error,
                purpose=disk.purpose,
                confidence=LIKELY,
                commands=(f"findmnt -T {disk.path}",),
                evidence=(Observed.quoted("statvfs", f"{disk.purpose}: {disk.path} ({disk.filesystem or 'unknown'})"),),
            )
