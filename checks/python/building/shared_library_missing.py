"""Judges shared-library-missing (PYT023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: whose import fails; other lines tell what a program can do without
_FAILED = later(r"^\s{0,12}(?:ImportError|OSError): |error while loading shared libraries: ")

#: library -> Debian's and Ubuntu's package
PACKAGES = {
    "libGL.so.1": "libgl1", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0",
    "libSM.so.6": "libsm6", "libXext.so.6": "libxext6", "libgomp.so.1": "libgomp1", "libibverbs.so.1": "libibverbs1",
    "librdmacm.so.1": "librdmacm1", "libaio.so.1": "libaio1", "libnuma.so.1": "libnuma1",
    "libsndfile.so.1": "libsndfile1", "libGLESv2.so.2": "libgles2",
    "libpciaccess.so.0": "libpciaccess0",  # of hwloc, which MPI and UCX load: https://packages.debian.org/libpciaccess0
}  # fmt: skip
OPENCV = frozenset({"libGL.so.1", "libgthread-2.0.so.0", "libglib-2.0.so.0", "libSM.so.6", "libXext.so.6"})


def explain(hits: Hits) -> Finding | None:
    """Each library has a package of its own."""
    library = hits.get("library") or ""
    stem = library.partition(".so")[0]
    known = {"libmpi": "libopenmpi-dev", "libffi": "libffi-dev", "libtbb": "libtbb-dev"}
    package = PACKAGES.get(library) or known.get(stem) or f"{stem}-dev"
    command = f"apt-get install -y {package}"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        library=library,
        command=command,
        commands=(command,),
        confidence=CONFIRMED if any(_FAILED.search(hit.text) for hit in hits) else LIKELY,
        headless=library in OPENCV,
    )
