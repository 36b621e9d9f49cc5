"""Judges build-requirement-absent (PYT036), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TORCH = TOML["torch"]
OTHER = TOML["other"]


_BUILD = 4  # position of what shows that a build is quoted

#: modules whose distribution has another name
_DISTRIBUTIONS = {"Cython": "cython", "yaml": "pyyaml", "skbuild": "scikit-build", "cv2": "opencv-python-headless",
                  "Crypto": "pycryptodome", "git": "gitpython", "sklearn": "scikit-learn"}  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Only what is missing inside of a build; the package is named where the log names it."""
    telling = [hit for hit in hits if hit.groups.get("module") or hit.groups.get("command")]
    quoted = any(hit.signature == _BUILD for hit in hits)
    telling = [hit for hit in telling if quoted or hit.signature != 1]
    if not telling:
        return None
    module = telling[0].groups.get("module") or "wheel"
    named = [hit.groups["package"] for hit in hits if hit.groups.get("package") and hit.line <= telling[0].line + 40]
    package = (telling[0].groups.get("package") or (named[-1] if named else "")).replace("@", "==")
    top = module.partition(".")[0]
    return found(
        PROBLEM, TORCH if top == "torch" else OTHER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if top == "torch" or telling[0].groups.get("command") else LIKELY, module=module,
        package=package, name=package.partition("==")[0] or "PACKAGE", distribution=_DISTRIBUTIONS.get(top, top),
    )  # fmt: skip
