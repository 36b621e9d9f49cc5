"""Judges ray-address-silent (RAY002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.shared.ray_use import joins_ray
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.script import Script
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
ABSENT = TOML["absent"]
LOG_MESSAGE = TOML["log"]
SEVERAL = TOML["several"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def address_silent(
    launch: Launch, ray_cluster: RayCluster, serving: Serving | None, script: Script | None
) -> Judgement:
    """Judge addresses of clusters; that of a dashboard is for `ray job`."""
    address = ray_cluster.address
    if ray_cluster.address_from != "RAY_ADDRESS" or not address or address.startswith(("http:", "https:")):
        return
    if ray_cluster.answers is not False or not joins_ray(launch, serving, script) or runs_elsewhere(launch):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        address=address,
        commands=("ray status", "unset RAY_ADDRESS"),
        evidence=(Observed.quoted("environment", f"RAY_ADDRESS={address}"),),
    )


@check(PROBLEM)
def cluster_absent(launch: Launch, ray_cluster: RayCluster) -> Judgement:
    """Trinity-RFT's launcher joins a cluster and starts none, unless `--dlc` has it start one on the cloud's nodes.

    https://github.com/modelscope/Trinity-RFT/blob/v0.3.1/trinity/cli/launcher.py
    """
    if launch.kind != "trinity" or launch.subcommand != "run" or launch.option("dlc") or runs_elsewhere(launch):
        return
    if ray_cluster.address or ray_cluster.address_from or ray_cluster.raylet_running:
        return
    yield found(
        PROBLEM,
        ABSENT,
        commands=("ray start --head",),
        confidence=LIKELY,
        evidence=(
            Observed.quoted("this machine", "no RAY_ADDRESS, no running raylet, no address file of `ray start`"),
        ),
    )


def explain(hits: Hits) -> Finding | None:
    """With the address where told; one that answered at last, or was done without, was not silent."""
    said = [hit for hit in hits if not hit.groups.get("joined")]
    joined = [hit for hit in hits if hit.groups.get("joined")]
    if not said or any(hit.file == said[-1].file and hit.line > said[-1].line for hit in joined):
        return None
    if several := hits.get("several"):
        return found(PROBLEM, SEVERAL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, several=several)
    address = hits.get("address")
    hostless = bool(address and address.startswith(":"))  # `--address=$HEAD:6379` with an empty variable
    at = TOML.phrase("at.hostless" if hostless else "at.address", address=address) if address else ""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        at=at,
    )
