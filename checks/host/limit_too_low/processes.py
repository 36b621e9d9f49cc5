"""Judges HST9781/processes, a row of limit-too-low; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.shared.ray_use import uses_ray
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_REFUSED = TOML["log_refused"]
MESSAGE = TOML["main"]


def explain(hits: Hits) -> Finding:
    """A limit that is reached, or a filter that forbids threads at all."""
    message = LOG_MESSAGE_REFUSED if hits.get("refused") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)


THREADS_PER_WORKER = 24  # measured on an idle worker of Ray 2.48


@check(PROBLEM)
def process_limit(host: Host, launch: Launch, serving: Serving | None) -> Judgement:
    """Judge commands that start Ray as a user whom the limit binds."""
    limit = host.max_processes_soft
    if limit is None or limit < 0 or host.user_is_root is not False or not uses_ray(launch, serving):
        return
    if host.cpus is None or limit >= host.cpus * THREADS_PER_WORKER:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        limit=limit,
        cpus=host.cpus,
        confidence=LIKELY,
        commands=("ulimit -u unlimited",),
        evidence=(Observed.quoted("RLIMIT_NPROC", f"soft {limit}"),),
    )
