"""Judges sum-wrong (NCC025), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.nodes.measured import Measured
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sum_wrong(cluster: Cluster) -> Judgement:
    """The first wrong sum of each node that told one."""
    measured = Measured(cluster)
    for node, part in sorted(measured.parts.items()):
        wrong = next((each for each in part.told.rings if not each.sum_right), None)
        if wrong is not None:
            host = measured.name(node)
            text = f"group {wrong.group}: the result of {wrong.message_bytes} bytes of ones is not the number of ranks"
            yield found(
                PROBLEM,
                MESSAGE,
                host=host,
                size=f"{wrong.message_bytes / 2**20:.3g}",
                among=wrong.nodes,
                where=Where(host=host),
                evidence=(Observed.quoted("doctor check --deep", text),),
            )
