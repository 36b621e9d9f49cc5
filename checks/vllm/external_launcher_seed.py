"""Judges external-launcher-without-seed (VLL028), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def external_launcher_seed(script: Script, packages: Packages) -> Judgement:
    """TRL passes a seed itself; this is for scripts that make the engine on their own."""
    for call in script.calls:
        backend = call.arguments.get("distributed_executor_backend")
        if call.name != "LLM" or call.has_star_kwargs or backend is None or backend.value != "external_launcher":
            continue
        if "seed" in call.arguments:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            version=packages.version("vllm"),
            where=Where(file=call.place.file, line=call.place.line, column=call.place.column),
            commands=("seed=0",),
            evidence=(proof(backend),),
        )
