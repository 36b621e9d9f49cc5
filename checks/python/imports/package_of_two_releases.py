"""Judges package-of-two-releases (PYT043), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import asker_of
from doctor.data.libraries import package_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CHECKOUT = TOML["checkout"]
MODEL = TOML["model"]


#: package -> distributions that write into its folder
_TWINS = {
    "triton": ("triton", "triton-ascend", "pytorch-triton", "triton-windows"),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "pynvml": ("nvidia-ml-py", "pynvml"),
}


def explain(hits: Hits) -> Finding | None:
    """Only where the package asked itself."""
    if model := hits.get("model"):
        return found(PROBLEM, MODEL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model)
    package = hits.get("package") or ""
    asker = asker_of(hits.first.frames)
    part = hits.first.groups.get("name") or hits.first.groups.get("module", "")
    if asker != package or re.search(r"^_C\b|^_version\b|\._C\b|\._ext\b|_cuda$", part):
        return None
    name = hits.first.groups.get("name") or f"{package}{hits.get('module') or ''}"
    if folder := _own_folder(hits.first.frames, package):
        return found(
            PROBLEM, CHECKOUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
            name=name, folder=folder,
    )  # fmt: skip
    twins = _TWINS.get(package, ())
    listed = ", ".join(twins)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        name=name,
        dist=" ".join(twins) or package.replace("_", "-"), wanted=(twins or (package.replace("_", "-"),))[0],
        twins=twins, listed=listed,
    )  # fmt: skip


def _own_folder(frames: Sequence[str], package: str) -> str:
    """Folder that holds a package, where it is not among what pip installs."""
    innermost = next(each for each in reversed(frames) if package_of(each.rpartition(":")[0]) == package)
    before, inside, _ = innermost.replace("\\", "/").rpartition(f"/{package}/")
    return before if inside and "-packages" not in before else ""
