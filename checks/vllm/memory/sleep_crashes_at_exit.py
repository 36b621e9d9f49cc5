"""Judges sleep-mode-crashes-at-exit (VLL018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def sleep_crashes_at_exit(serving: Serving | None, training: Training | None, packages: Packages) -> Judgement:
    """The engine has compared the version."""
    setting = serving.arguments.get("enable_sleep_mode") if serving is not None else None
    if setting is None and training is not None and training.value("use_vllm"):
        setting = training.get("vllm_enable_sleep_mode")
    if setting is None or not setting.known or not truth(setting.value):
        return
    yield found(PROBLEM, MESSAGE, version=packages.version("vllm"), where=place_of(setting), evidence=(proof(setting),))


def explain(hits: Hits) -> Finding | None:
    """A crash counts where sleep mode was on and the same log had said before that the run was through."""
    crashes = hits.of(1)
    through = {hit.file: hit.line for hit in reversed(hits.of(3))}
    at_exit = [hit for hit in crashes if hit.line > through.get(hit.file, hit.line)]
    if not hits.of(0) and not (at_exit and hits.of(2)):
        return None
    severity = WARNING if at_exit else None  # the exit code fails whatever waits for it
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, severity=severity
    )
