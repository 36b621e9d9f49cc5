"""Judges disk-too-small (CKP001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.memory_bounds import full_parameters, gib
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._helpers import checkpoint_bytes, checkpoints_kept
from doctor.facts.host import Host
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
ONE = TOML["one"]
MANY = TOML["many"]


@check(PROBLEM)
def disk_too_small(
    model: Model, training: Training, host: Host, packages: Packages | None, world: World | None
) -> Judgement:
    """Adapters are small and not judged."""
    parameters = full_parameters(model, training)
    kept = checkpoints_kept(training, packages)
    disk = host.disk("output_dir")
    if parameters is None or kept == 0 or disk is None:
        return
    if disk.free_bytes is None:
        yield Skip(f"the free space at {disk.path} is not known")
        return
    one = checkpoint_bytes(parameters, training, packages, world)
    if one * (kept or 1) <= disk.free_bytes:
        return
    alone = one > disk.free_bytes
    limit, every = training.get("save_total_limit"), training.get("save_steps")
    yield found(
        PROBLEM,
        ONE if alone else MANY,
        model=model.name,
        one=gib(one),
        all=gib(one * (kept or 1)),
        count=kept or 1,
        fit=max(1, disk.free_bytes // one - 1) if one else 1,
        free=gib(disk.free_bytes),
        path=disk.path,
        where=place_of(limit, every),
        severity=ERROR if alone else WARNING,
        confidence=LIKELY,
        commands=(f"df -h {disk.path}",),
        evidence=(*proofs(limit, every), Observed.quoted(model.folder or model.stated_in, f"{parameters} parameters")),
    )
