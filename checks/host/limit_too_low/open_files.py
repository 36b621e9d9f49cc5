"""Judges HST9781/open_files, a row of limit-too-low; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.shared.ray_use import uses_ray
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


RAYS_BOUND = 4096


@check(PROBLEM)
def open_files_limit(host: Host, launch: Launch, serving: Serving | None) -> Judgement:
    """Judge commands that start Ray; the soft limit alone means nothing."""
    if not uses_ray(launch, serving):
        return
    if host.open_files_hard is None:
        yield Skip("the limit of open files is not known")
        return
    if not 0 <= host.open_files_hard < RAYS_BOUND:
        return
    contained = host.container in {"docker", "podman"}
    yield found(
        PROBLEM,
        MESSAGE,
        limit=host.open_files_hard,
        confidence=LIKELY,
        commands=("docker run --ulimit nofile=65536:65536" if contained else "ulimit -Hn 65536",),
        evidence=(Observed.quoted("RLIMIT_NOFILE", f"soft {host.open_files_soft}, hard {host.open_files_hard}"),),
    )
