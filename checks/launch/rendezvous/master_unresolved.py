"""Judges master-unresolved (LCH011), whose words stand in the TOML beside it."""

from __future__ import annotations

import ipaddress

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.network import Network

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
REVERSE = TOML["reverse"]
UNNAMED = TOML["unnamed"]


def is_address(host: str) -> bool:
    """Whether a host is written as an IPv4 or IPv6 address, which needs nobody to resolve it."""
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def explain(hits: Hits) -> Finding | None:
    """A name of reverse DNS is no wrong setting of the user's, and an address is no name.

    torch tries each host as IPv6 and then as IPv4, and prints the resolver's word for the half that an address of the
    other family is not: https://github.com/pytorch/pytorch/blob/v2.5.1/torch/csrc/distributed/c10d/socket.cpp
    """
    names = [each for each in hits.values("host") if not is_address(each)]
    if not names and not hits.get("unnamed"):
        return None
    host = names[0] if names else ""
    return found(
        PROBLEM,
        REVERSE if host.endswith(".arpa") else LOG_MESSAGE if host else UNNAMED,
        where=hits.where(),
        evidence=hits.evidence(),
        host=host,
    )


@check(PROBLEM)
def master_unresolved(launch: Launch, network: Network) -> Judgement:
    """Only what the resolver answered counts; a name that was not asked for is no finding."""
    master = network.endpoint("master")
    if master is None or master.resolves is not False or runs_elsewhere(launch) or not launch.trains:
        return
    yield found(PROBLEM, MESSAGE, host=master.host, commands=(f"getent hosts {master.host}",))
