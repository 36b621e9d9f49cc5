"""Judges temporary-folder-unusable (HST006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.ray_use import uses_ray
from doctor.catalogue.shared.sizes import MIB, size
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
READ_ONLY = TOML["read_only"]
FULL = TOML["full"]


LITTLE_BYTES = 256 * MIB


@check(PROBLEM)
def temporary_folder(host: Host, launch: Launch | None, serving: Serving | None) -> Judgement:
    """Worse for Ray, which has no other place."""
    disk = host.disk("tmp")
    if disk is None or disk.error:
        return
    severity = ERROR if launch is not None and uses_ray(launch, serving) else WARNING
    evidence = (Observed.quoted("statvfs", f"{disk.path}: {disk.free_bytes} bytes free, {disk.filesystem}"),)
    commands = ("export TMPDIR=$HOME/tmp; mkdir -p $TMPDIR",)
    if disk.writable is False:
        yield found(PROBLEM, READ_ONLY, path=disk.path, severity=severity, commands=commands, evidence=evidence)
    elif disk.free_bytes is not None and disk.free_bytes < LITTLE_BYTES:
        free = size(disk.free_bytes)
        yield found(PROBLEM, FULL, path=disk.path, free=free, severity=severity, commands=commands, evidence=evidence)
