"""Judges api-server-engine-client (VLL001), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
LOG_MESSAGE = TOML["log"]


@check(PROBLEM)
def api_server_engine_client(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-api-server" or "vllm/entrypoints/api_server.py" in packages.repaired:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        commands=_instead(launch),
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
    )


#: options of the demo server alone, which `vllm serve` does not take; of both it is the model that stands by itself
_DEMO_ONLY = frozenset({"--log-level"})


def _instead(launch: Launch) -> tuple[str, ...]:
    """`doctor serve`, and `vllm serve`, each with the options that were given.

    https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/entrypoints/api_server.py (its own options)
    """
    place = next((at for at, word in enumerate(launch.argv) if word == launch.module), None)
    words = launch.argv[place + 1 :] if place is not None else ()
    given = shlex.join(words)
    options: list[str] = []
    model, at = "MODEL", 0
    while at < len(words):
        name, joined, value = words[at].partition("=")
        follows = "" if joined or at + 1 == len(words) or words[at + 1].startswith("--") else words[at + 1]
        step = 2 if follows else 1
        if name == "--model":
            model = value or follows or model
        elif name not in _DEMO_ONLY:
            options += words[at : at + step]
        at += step
    return (f"doctor serve {given}".rstrip(), shlex.join(["vllm", "serve", model, *options]))


def explain(hits: Hits) -> Finding:
    """The release where the log tells it."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("doctor serve --model MODEL", "vllm serve MODEL"),
        version=hits.versions.get("vllm") or "",
    )
