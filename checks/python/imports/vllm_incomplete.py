"""Judges vllm-incomplete (PYT009), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, INFO, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_WINDOWS = TOML["log_windows"]
LOG_NO_VERSION = TOML["log_no_version"]
LOG_VERSION_ABSENT = TOML["log_version_absent"]
NOT_BUILT = TOML["not_built"]
NO_VERSION = TOML["no_version"]


#: builds for hardware without a module of that name
_OTHER_HARDWARE = ("tpu", "xpu", "hpu", "gaudi", "neuron", "empty", "ascend")


@check(PROBLEM)
def vllm_incomplete(packages: Packages) -> Judgement:
    """The missing module says more than the missing version file: one of the two is told."""
    folder = packages.modules.get("vllm")
    if not folder:
        return
    version = (packages.version("vllm") or "").partition("+")[2]
    other = any(mark in version for mark in _OTHER_HARDWARE)
    not_built = "vllm/_C*.so" in packages.missing_files and not other
    if not not_built and "vllm/_version.py" not in packages.missing_files:
        return
    yield found(
        PROBLEM,
        NOT_BUILT if not_built else NO_VERSION,
        severity=ERROR if not_built else WARNING,
        confidence=LIKELY if not_built and "vllm" not in packages.distributions else CONFIRMED,
        where=Where(file=folder),
        commands=(f"pip install --force-reinstall --no-deps {_requirement(packages.version('vllm'))}",),
        evidence=tuple(Observed.quoted(folder, f"{each} is missing") for each in packages.missing_files),
        folder=folder,
    )


def _requirement(version: str | None) -> str:
    """The same release again, for its dependencies stay as they are; whichever pip takes where it is not published."""
    published = version is not None and re.fullmatch(r"\d[\d.]*(?:\.?post\d+)?", version)
    return f'"vllm=={version}"' if published else "vllm"


def explain(hits: Hits) -> Finding | None:
    """The missing module says more than the missing version file, whose absence ends only what asks for it itself."""
    if hits.of(4):
        return found(
            PROBLEM,
            LOG_VERSION_ABSENT,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=("python -c 'import importlib.util as u; print(u.find_spec(\"vllm\"))'",),
            confidence=CONFIRMED,
        )
    if not hits.of(0) and not hits.of(1):
        warned = hits.of(3)
        return _no_version(hits) if warned else None
    windows = bool(hits.of(2)) or any("\\" in frame for hit in hits for frame in hit.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE_WINDOWS if windows else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=() if windows else ("python -c 'import vllm; print(vllm.__file__)'",),
        confidence=CONFIRMED if windows or hits.of(0) else LIKELY,
        severity=ERROR if hits.of(0) else WARNING,
    )


def _no_version(hits: Hits) -> Finding:
    return found(
        PROBLEM,
        LOG_NO_VERSION,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("python -c 'import vllm; print(vllm.__file__, vllm.__version__)'",),
        confidence=CONFIRMED,
        severity=INFO,
    )
