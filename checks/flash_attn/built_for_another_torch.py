"""Judges flash-attn-of-another-torch (FLA003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.torch_builds import major, numbers, public
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
OTHER_CUDA = TOML["other_cuda"]


_TAG = later(r"(?:cu(?P<cuda>\d\d)\d*)?\.?torch(?P<torch>\d+\.\d+)")


@check(PROBLEM)
def built_for_another_torch(packages: Packages) -> Judgement:
    """Judge the tag that the builds of flash-attn's own releases carry."""
    version, torch = packages.version("flash-attn") or "", packages.version("torch")
    match = _TAG.search(version.partition("+")[2])
    if match is None or torch is None:
        return
    build = packages.torch_build
    cuda = major(build.cuda) if build is not None else None
    evidence = (Observed.quoted("installed packages", f"flash-attn {version}, torch {torch}"),)
    again = (
        "pip uninstall -y flash-attn",
        f"pip install --no-cache-dir --no-build-isolation flash-attn=={public(version)}",
    )
    if numbers(match["torch"]) != numbers(torch)[:2]:
        yield found(
            PROBLEM, MESSAGE, confidence=LIKELY, commands=again, evidence=evidence,
            version=version, wanted=match["torch"], torch=torch,
        )  # fmt: skip
    elif match["cuda"] and cuda is not None and int(match["cuda"]) != cuda:
        yield found(
            PROBLEM, OTHER_CUDA, confidence=LIKELY, commands=again, evidence=evidence,
            version=version, wanted=match["cuda"], torch=cuda,
        )  # fmt: skip
