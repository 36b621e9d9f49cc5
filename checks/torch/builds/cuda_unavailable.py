"""Judges cuda-unavailable (TOR008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_DRIVER = TOML["log_driver"]
LOG_MESSAGE_LOST = TOML["log_lost"]
MESSAGE = TOML["main"]


@check(PROBLEM, requires=("TOR001", "TOR002", "TOR006"))
def cuda_unavailable(deep: Deep, gpus: Gpus, packages: Packages | None, environment: Environment | None) -> Judgement:
    """Silent where the variables hide the GPUs on purpose."""
    healthy = [gpu for gpu in gpus.gpus if gpu.error is None]
    build = packages.torch_build if packages is not None else None
    if deep.cuda_available is not False or not healthy or (build is not None and build.cuda is None):
        return
    shown = environment.get("CUDA_VISIBLE_DEVICES") if environment is not None else None
    if shown is not None and shown.strip() in {"", "-1", "NoDevFiles"}:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("python -c 'import torch; torch.cuda.init()'", "ls -l /dev/nvidia*"),
        evidence=(
            Observed.quoted("torch.cuda.is_available()", "False"),
            Observed.quoted("NVML", f"{len(healthy)} GPUs"),
        ),
        count=len(healthy),
        driver=gpus.driver_version or "?",
    )


def explain(hits: Hits) -> Finding | None:
    """Torch says whether it was the driver; a script's own check does not."""
    driver = bool(hits.of(0))
    lost = bool(hits.of(3) or hits.of(4))
    return found(
        PROBLEM,
        LOG_MESSAGE_DRIVER if driver else LOG_MESSAGE_LOST if lost else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if driver else LIKELY,
        commands=("nvidia-smi -L", "echo $CUDA_VISIBLE_DEVICES"),
    )
