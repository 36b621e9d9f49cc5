"""Judges vllm-version-warning-false (TRL030), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.trainers import installed
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def vllm_warning_false(packages: Packages) -> Judgement:
    """Judge only the one version that is compared wrongly."""
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    release = data.trl_release(version)
    if release is None or release.vllm_window is None or release.vllm_window_strips_local or "+" not in vllm:
        return
    high = release.vllm_window[1]
    if packages.matches("vllm", f"=={high}"):
        yield found(
            PROBLEM,
            MESSAGE,
            evidence=(Observed.quoted("installed packages", f"trl {version}, vllm {vllm}"),),
            version=version,
            vllm=vllm,
            high=high,
        )
