"""Judges output-not-writable (CKP002), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
NO_FOLDER = TOML["no_folder"]
LOG_MESSAGE = TOML["log"]
A_FILE = TOML["a_file"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def output_not_writable(host: Host, training: Training) -> Judgement:
    """What was not reported is no finding; the disk is asked for only where a folder is known."""
    disk = host.disk("output_dir")
    setting = training.get("output_dir")
    if disk is not None and disk.in_the_way is not None:
        yield found(
            PROBLEM, NO_FOLDER, path=disk.path, obstacle=disk.in_the_way, where=place_of(setting),
            commands=(f"ls -ld {shlex.quote(disk.in_the_way)}",), evidence=proofs(setting),
        )  # fmt: skip
    if disk is None or disk.in_the_way is not None or disk.writable is not False:
        return
    commands = (f"ls -ld {shlex.quote(disk.path)}",)
    yield found(PROBLEM, MESSAGE, path=disk.path, where=place_of(setting), commands=commands, evidence=proofs(setting))


def explain(hits: Hits) -> Finding:
    """Whether rights or a file in the way refused it."""
    message = A_FILE if hits.first.signature == len(SIGNATURES) - 1 else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, path=hits.get("path")
    )
