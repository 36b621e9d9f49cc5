"""Judges folder-made-twice (HST030), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TWICE = TOML["twice"]
NO_FOLDER = TOML["no_folder"]
UNSEEN = TOML["unseen"]


#: the line that was running, or the function of the library that makes folders
_MAKES = later(r"\b(?:mkdirs?|makedirs|create_dirs?|make_dirs?)\(")
_MAKER = later(r"(?:^|[\\/])(?:os|pathlib(?:[\\/]__init__)?|_local)\.py:(?:mkdir|makedirs)$|<frozen os>:makedirs$")
#: by keyword, or in the third place of `os.makedirs` and `Path.mkdir` (mode and parents stand before it)
_ALLOWED = later(
    r"exist_ok\s*=\s*True|\b(?:makedirs|mkdir)\((?:[^()]|\([^()]*\))*,\s*(?:mode=)?[\w|.]+\s*,\s*True\s*\)"
)
#: a call whose line ends inside its parentheses, or that passes on what nobody sees
_UNFINISHED = later(r"[(,]\s*(?:\.{3})?\s*$|exist_ok\s*=\s*(?!True|False)\S|\*\*")


def _call(hit: Hit) -> str | None:
    """The innermost line that makes a folder, outside of the standard library; "" where it is not shown, None: none."""
    if not (_MAKES.search(hit.code) or any(_MAKER.search(one) for one in hit.frames[-2:])):
        return None
    codes = hit.codes or [""] * (len(hit.frames) - 1) + [hit.code]
    outside = [code for frame, code in zip(hit.frames, codes, strict=False) if not _MAKER.search(frame)]
    return outside[-1] if outside else ""


def explain(hits: Hits) -> Finding | None:
    """Only where the line makes a folder: files, symbolic links and shared memory exist for other reasons."""
    hit, call = next(((each, call) for each in hits for call in [_call(each)] if call is not None), (None, ""))
    if hit is None:
        return None
    folder = hit.groups["folder"].replace("\\\\", "/")
    seen = _MAKES.search(call) is not None and _UNFINISHED.search(call) is None
    message = NO_FOLDER if _ALLOWED.search(call) else TWICE if seen else UNSEEN
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, folder=folder,
    )  # fmt: skip
