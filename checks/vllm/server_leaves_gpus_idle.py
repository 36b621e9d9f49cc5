"""Judges server-leaves-gpus-idle (VLL1005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.engine_gpus import SIZES
from doctor.catalogue.shared.proofs import seen_by
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: what chooses devices besides the sizes
_CHOOSES = ("device", "device_ids", "distributed_executor_backend", "nnodes", "data_parallel_size_local",
            "data_parallel_rank", "headless", "enable_elastic_ep")  # fmt: skip


@check(PROBLEM)
def server_leaves_gpus_idle(serving: Serving, gpus: Gpus, environment: Environment, launch: Launch) -> Judgement:
    """Only where nobody chose: neither a size, nor the GPUs that are seen."""
    chosen = {*SIZES, *_CHOOSES} & set(serving.arguments)
    if chosen or serving.broken is not None or "CUDA_VISIBLE_DEVICES" in launch.environment:
        return
    seen = seen_by(None, gpus, environment)
    if environment.get("CUDA_VISIBLE_DEVICES") is not None or not seen or len(seen) < 2:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        have=len(seen),
        rest=len(seen) - 1,
        confidence=LIKELY,
        commands=(f"--tensor-parallel-size {len(seen)}", f"--data-parallel-size {len(seen)}"),
        evidence=(Observed.quoted("visible GPUs", ", ".join(map(str, seen))),),
    )
