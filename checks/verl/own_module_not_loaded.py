"""Judges own-module-not-loaded (VRL033), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
ABSENT = TOML["absent"]
FAILED = TOML["failed"]
NAMELESS = TOML["nameless"]


@check(PROBLEM)
def own_module_not_loaded(verl_config: VerlConfig) -> Judgement:
    """Files with code that the configuration names and this machine does not have; those with data are LCH003's."""
    for setting in verl_config.absent:
        if setting.name.endswith(".path"):
            yield found(
                PROBLEM, ABSENT, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
                file=setting.value,
            )  # fmt: skip


@check(PROBLEM)
def own_object_absent(verl_config: VerlConfig) -> Judgement:
    """Names that the configuration gives and the file beside them does not define."""
    for setting in verl_config.nameless:
        yield found(
            PROBLEM, NAMELESS, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
            name=setting.value,
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """No file, a file that fails, or a file without the object."""
    absent, file, module = hits.get("absent"), hits.get("file"), hits.get("module")
    name = hits.get("name") or hits.get("object")
    message = ABSENT if absent else FAILED if file else NAMELESS
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        file=absent or file or "",
        name=name or "",
        module=module,
    )
