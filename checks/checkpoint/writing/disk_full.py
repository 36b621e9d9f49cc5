"""Judges disk-full (CKP003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_BROKEN_OFF = TOML["log_broken_off"]
BYTES = TOML["bytes"]
INODES = TOML["inodes"]


#: pieces of shared memory lie in /dev/shm
_SHARED = later(r"multiprocessing[\\/](?:synchronize|shared_memory|heap)\.py:")
LOG_COMMAND = "df -h . /tmp ~/.cache"

LEAST_BYTES = 1024**3  # an adapter with its optimizer and a tokenizer is of this order


@check(PROBLEM, requires=("CKP001",))
def disk_full(host: Host, training: Training) -> Judgement:
    """Inodes are None where the file system has no limit."""
    disk = host.disk("output_dir")
    if disk is None:
        return
    setting = training.get("output_dir")
    place, proof = place_of(setting), proofs(setting)
    if disk.free_inodes == 0:
        yield found(PROBLEM, INODES, path=disk.path, where=place, commands=(f"df -i {disk.path}",), evidence=proof)
    elif disk.free_bytes is not None and disk.free_bytes < LEAST_BYTES:
        free = disk.free_bytes // 1024**2
        commands = (f"df -h {disk.path}",)
        yield found(PROBLEM, BYTES, free=free, path=disk.path, where=place, commands=commands, evidence=proof)


def explain(hits: Hits) -> Finding | None:
    """Only the system's own number proves that the disk was full; shared memory that is full is HST001."""
    if all(any(_SHARED.search(frame) for frame in hit.frames) for hit in hits):
        return None
    proven = bool(hits.of(0) or hits.of(2) or hits.of(3))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_BROKEN_OFF,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if proven else LIKELY,
        commands=(LOG_COMMAND,),
    )
