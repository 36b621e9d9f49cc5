"""Judges foreign-library-loaded (CUD007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.words import words_of
from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: those whose version decides over numbers and over the agreement between ranks
STEMS = ("libcublasLt", "libcublas", "libnccl", "libcudnn", "libnvJitLink")


@check(PROBLEM)
def foreign_library_loaded(deep: Deep, packages: Packages) -> Judgement:
    """Only where torch brings a library of that name: conda's and NVIDIA's containers have theirs elsewhere."""
    for mapped in deep.mapped:
        wheel = packages.wheel_libraries.get(mapped.stem)
        if mapped.stem not in STEMS or not wheel or "/nvidia/" in mapped.path:
            continue
        own = wheel_version(packages, mapped.stem)
        newer = is_older(mapped.version, own) is False
        yield found(
            PROBLEM,
            MESSAGE,
            severity=INFO if newer else WARNING,
            commands=("unset LD_LIBRARY_PATH",),
            evidence=(Observed.quoted("/proc/PID/maps", mapped.path), Observed.quoted("torch's own", wheel)),
            stem=mapped.stem,
            version=mapped.version or "",
            path=mapped.path,
            own=own or "version not stated",
        )
