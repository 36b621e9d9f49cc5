"""Judges bitsandbytes-lacks-torch-cuda (BNB002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.torch_builds import trains_on_cpu
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_quantization import optimizer, quantization
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: torch's CUDA -> first release whose Linux wheel holds its library (wheels of 0.44.1 to 0.50.2 listed)
FIRST = {"12.6": "0.45.0", "12.8": "0.45.3", "12.9": "0.46.1", "13.0": "0.48.0", "13.2": "0.50.0"}


@check(PROBLEM)
def lacks_torch_cuda(
    packages: Packages,
    environment: Environment | None,
    training: Training | None,
    script: Script | None,
    world: World | None,
) -> Judgement:
    """An error where the run uses it, else a warning; BNB_CUDA_VERSION chooses another library by hand."""
    build = packages.torch_build
    first = FIRST.get(build.cuda) if build is not None and build.cuda else None
    if build is None or first is None or not packages.matches("bitsandbytes", f"<{first}"):
        return
    if trains_on_cpu(training, world) or (environment is not None and environment.get("BNB_CUDA_VERSION")):
        return
    asked = (quantization(training, script) or optimizer(training)) if training is not None else None
    yield found(
        PROBLEM,
        MESSAGE,
        severity=ERROR if asked is not None else WARNING,
        confidence=LIKELY if packages.conda else CONFIRMED,
        where=place_of(asked),
        evidence=(
            *quoted(asked),
            Observed.quoted(
                "installed packages", f"bitsandbytes {packages.version('bitsandbytes')}, torch CUDA {build.cuda}"
            ),
        ),
        commands=(f'pip install "bitsandbytes>={first}"',),
        version=packages.version("bitsandbytes"),
        cuda=build.cuda,
        first=first,
    )
