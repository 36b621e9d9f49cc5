"""Judges served-without-api-key (VLL016), whose words stand in the TOML beside it."""

from __future__ import annotations

import ipaddress

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: ways to serve without a TCP port, or with an authentication of the user's own
OTHERWISE = ("uds", "headless", "middleware", "ssl_ca_certs", "help")


@check(PROBLEM)
def served_without_key(serving: Serving, environment: Environment | None) -> Judgement:
    """Judge a host that was written; that a server without one listens everywhere is its default, and no news."""
    setting, key = serving.arguments.get("host"), serving.arguments.get("api_key")
    if serving.has_api_key or key is not None or any(name in serving.arguments for name in OTHERWISE):
        return
    if setting is None or not setting.known or not _for_others(serving.host):
        return
    if environment is None:
        yield Skip("the environment of the command, where a key may be set, is not known")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        host=serving.host,
        where=place_of(setting),
        commands=("--host 127.0.0.1",),
        evidence=proofs(setting),
    )


def _for_others(host: str | None) -> bool:
    """Whether an address is one that other machines may reach; of a name nothing is said."""
    try:
        return not ipaddress.ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False
