"""Judges torch-rocm-build (TOR006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.torch_builds import WHEELS, older_wheel, public
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def rocm_build(packages: Packages, gpus: Gpus) -> Judgement:
    """A machine with cards of both makers is rare; there the finding is worth reading too."""
    build = packages.torch_build
    if build is None or build.hip is None or build.cuda is not None or not gpus.gpus:
        return
    tag = older_wheel(build.version, gpus.cuda_driver_version) if gpus.cuda_driver_version else None
    wheel = f" --index-url {WHEELS}/{tag}" if tag else ""
    yield found(
        PROBLEM,
        MESSAGE,
        commands=(f'pip install --force-reinstall "torch=={public(build.version)}"{wheel}',),
        evidence=(Observed.quoted("torch/version.py", f"__version__ {build.version}, hip {build.hip}"),),
        version=build.version,
        hip=build.hip,
        count=len(gpus.gpus),
    )
