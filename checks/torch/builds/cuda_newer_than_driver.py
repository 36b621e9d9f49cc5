"""Judges cuda-newer-than-driver (TOR002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.shared.torch_builds import WHEELS, major, older_wheel, public, trains_on_cpu
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
DRIVERS = {11: "R450", 12: "R525", 13: "R580"}


@check(PROBLEM)
def cuda_newer_than_driver(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """Compare major versions. NVIDIA's forward compatibility package can lift the limit: then it is only likely."""
    build = packages.torch_build
    if build is None or build.cuda is None or not gpus.gpus or trains_on_cpu(training, world):
        return
    wanted, runs = major(build.cuda), major(gpus.cuda_driver_version)
    if wanted is None or runs is None:
        yield Skip("the driver does not report its CUDA version")
        return
    if wanted <= runs:
        return
    search = (environment.get("LD_LIBRARY_PATH") if environment is not None else None) or ""
    tag = older_wheel(build.version, str(runs))
    install = f'pip install --force-reinstall "torch=={public(build.version)}" --index-url {WHEELS}/{tag}'
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY if "compat" in search else CONFIRMED,
        commands=(install,) if tag else (),
        evidence=(
            Observed.quoted("torch/version.py", f"cuda {build.cuda}"),
            Observed.quoted("NVML", f"driver {gpus.driver_version}, CUDA {gpus.cuda_driver_version}"),
        ),
        version=build.version,
        cuda=build.cuda,
        driver=gpus.driver_version or "here",
        runs=gpus.cuda_driver_version,
        major=runs,
        least=DRIVERS.get(wanted, ""),
        wanted=wanted,
    )


def explain(hits: Hits) -> Finding | None:
    """12080 means CUDA 12.8."""
    number = int(hits.get("found") or 0)
    build = hits.versions.get("torch", "").partition("+")[2]
    cuda = f"CUDA {number // 1000}.{number % 1000 // 10}" if number else "?"
    wheel = "cu126" if number >= 12000 or not number else "cu118"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        driver=cuda if number else "",
        build=f" {build}" if build else "",
        wheel=wheel,
        # where the number is not told it may also be that no driver is there at all
        confidence=CONFIRMED if number else LIKELY,
    )
