"""Judges requirement-violated (PYT014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found, joined
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import Need, applies, needs, parsed, plainly_satisfied, satisfies, stack
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
COMPILED = TOML["compiled"]
COMPARED = TOML["compared"]
LOG_MESSAGE = TOML["log"]


_PAIRS = 3  # that a sentence can carry

#: told by checks of their own: torchvision and torchaudio beside torch, torch beside Triton
ELSEWHERE = frozenset({("torchvision", "torch"), ("torchaudio", "torch"), ("torch", "triton")})
#: compared in transformers/dependency_versions_check.py (4.46.0, 4.57.1, 5.0.0 and 5.23.0 read)
_COMPARED = frozenset({"tokenizers", "huggingface-hub", "safetensors", "numpy"})


@check(PROBLEM)
def requirement_violated(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Judge pairs of installed packages only, so a partial list serves too."""
    for need in needs(packages):
        installed = packages.version(need.name)
        named = need.name in stack() or (need.owner.name == "torch" and need.name.startswith("nvidia-"))
        if installed is None or not named or (need.owner.name, need.name) in ELSEWHERE:
            continue
        if plainly_satisfied(need.line, installed):
            continue
        requirement = parsed(need.line)
        if requirement is None or not requirement.specifier or not applies(requirement, interpreter):
            continue
        if satisfies(installed, requirement.specifier) is False:
            yield _finding(need, f"{requirement.name}{requirement.specifier}", installed)


def _finding(need: Need, requirement: str, installed: str) -> Finding:
    owner = need.owner
    message, severity = MESSAGE, WARNING
    if (owner.name, need.name) == ("vllm", "torch"):
        message, severity = COMPILED, ERROR
    elif owner.name == "transformers" and need.name in _COMPARED:
        message, severity = COMPARED, ERROR
    return found(
        PROBLEM,
        message,
        severity=severity,
        commands=(f'pip install "{owner.name}=={owner.version}" "{requirement}"',),
        evidence=(
            Observed.quoted(f"metadata of {owner.name} {owner.version}", f"Requires-Dist: {need.line}"),
            Observed.quoted("installed packages", f"{need.name} {installed}"),
        ),
        owner=owner.name,
        version=owner.version,
        requirement=requirement,
        name=need.name,
        installed=installed,
    )


def explain(hits: Hits) -> Finding:
    """The pairs that pip names."""
    pairs = [hit.groups for hit in hits][:_PAIRS]
    names = dict.fromkeys(name for each in pairs for name in (each["asker"], f'"{each["need"]}"'))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        pairs=joined([TOML.phrase("pair", **each) for each in pairs], "; ", ";"), names=" ".join(names),
    )  # fmt: skip
