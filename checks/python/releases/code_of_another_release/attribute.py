"""Judges PYT5808/attribute, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import CASES, OWN_MODELS, asker_of, finding, installed_version, judge
from doctor.data.api import Known, attribute

TOML = words_of(__name__)
PROBLEM = TOML.problem


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
