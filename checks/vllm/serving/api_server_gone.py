"""Judges api-server-gone (VLL002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.vllm.serving._api_servers import started_by
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def api_server_gone(launch: Launch, packages: Packages) -> Judgement:
    """The module that the command starts."""
    yield from started_by("vllm-api-server", TOML, launch, packages)
