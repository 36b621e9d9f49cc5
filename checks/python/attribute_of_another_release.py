"""Code uses an attribute or method that only other releases of the library's class have.

## What it means
Methods and attributes of the libraries' classes come and go with releases. The code that uses one was written for a
release whose class has it.
## What it does to a run
`AttributeError: 'X' object has no attribute 'y'`, at the place of use: often in the first step only.
## What to do
Install the release of the library that fits the code, or upgrade the library that uses the attribute.
## How it is found
In a log: by the class and the attribute in the exception, looked up in the classes of all releases and their bases.
## References
https://docs.python.org/3/library/exceptions.html#AttributeError
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

from doctor.checks.python._api_history import CASES, OWN_MODELS, asker_of, finding, installed_version, judge
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.data.api import Known, attribute

PROBLEM = Problem(id="PYT034", name="attribute-of-another-release", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB", "ACC", "PFT", "HUB", "LCH",
    "FSD", "CKP",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^AttributeError: (?:'(?P<class>[A-Z_]\w{2,80})' object|type object '(?P<type>[A-Z_]\w{2,80})') "
        r"has no attribute '(?P<name>\w{1,80})'",
        symptom_of=_OTHERS,
    ),
)

MESSAGES = CASES


def explain(hits: Hits) -> Finding | None:
    """Tell what the history says, where one library alone has such a class."""
    owner = hits.first.groups.get("class") or hits.first.groups.get("type") or ""
    if asker_of(hits.first.frames) in OWN_MODELS:
        return None
    known = _only(hits, attribute(owner, hits.first.groups["name"]), owner)
    if known is None:
        return None
    return finding(PROBLEM, hits, known, f"{owner}.{hits.first.groups['name']}")


def _only(hits: Hits, histories: list[Known], owner: str) -> Known | None:
    """The history of the class itself, else of its bases, where all of one library tell the same of the release."""
    own = [each for each in histories if each.owner.endswith(f":{owner}")] or histories
    verdicts = {(each.package, judge(each, installed_version(hits.versions, each.library))) for each in own}
    return own[0] if len(verdicts) == 1 else None
