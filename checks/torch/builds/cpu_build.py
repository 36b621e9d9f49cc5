"""Judges torch-cpu-build (TOR001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.shared.torch_builds import WHEELS, major, older_wheel, public, trains_on_cpu
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_OTHER = TOML["log_other"]
MESSAGE = TOML["main"]
DRIVER = TOML["driver"]


#: local parts of builds for other hardware
_OTHER = ("xpu", "hpu", "npu", "tpu", "rocm")


def explain(hits: Hits) -> Finding:
    """Each kind of GPU has a wheel of its own."""
    other = hits.first.groups.get("other")
    return found(
        PROBLEM, LOG_MESSAGE_OTHER if other else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED, other=other or "", device=(other or "").lower(),
    )  # fmt: skip


@check(PROBLEM)
def cpu_build(
    packages: Packages, gpus: Gpus | None, nvidia: Nvidia | None, training: Training | None, world: World | None
) -> Judgement:
    """Builds for other hardware, and commands that ask for the CPU, are right as they are."""
    build = packages.torch_build
    if build is None or build.cuda is not None or build.hip is not None or trains_on_cpu(training, world):
        return
    if any(mark in build.version.partition("+")[2] for mark in _OTHER):
        return
    count = len(gpus.gpus) if gpus is not None else (nvidia.pci_devices or 0) if nvidia is not None else 0
    if not count:
        return
    driver = gpus.cuda_driver_version if gpus is not None else None
    tag = older_wheel(build.version, driver) if driver else None
    wheel = f" --index-url {WHEELS}/{tag}" if tag else ""
    release = data.torch_release(build.version)
    beyond = release.cuda if release is not None and driver and not tag else None
    yield found(
        PROBLEM,
        DRIVER if beyond else MESSAGE,
        cuda=beyond,
        driver=driver,
        major=major(driver) if driver else None,
        commands=(f'pip install --force-reinstall "torch=={public(build.version)}"{wheel}',),
        evidence=(Observed.quoted("torch/version.py", f"__version__ {build.version}, cuda None"),),
        version=build.version,
        gpus=TOML.phrase("one_gpu") if count == 1 else TOML.phrase("gpus", count=count),
    )
