"""Judges multiplies-slower (PRF016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.nodes.measured import Measured, slow_products
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
GPU = TOML["gpu"]
CPU = TOML["cpu"]


@check(PROBLEM)
def multiplies_slower(cluster: Cluster) -> Judgement:
    """Likely: it was so at the time of the measurement."""
    measured = Measured(cluster)
    for node, process, slow in slow_products(measured):
        host, own, others = measured.name(node), f"{1 / slow.own:.3g}", f"{1 / slow.others:.3g}"
        text = f"{own} TFLOP/s, median of the others {others}, {slow.sigmas:.0f} standard deviations of the noise"
        yield found(
            PROBLEM,
            CPU if process.gpu is None else GPU,
            gpu=process.gpu,
            host=host,
            own=own,
            others=others,
            confidence=LIKELY,
            where=Where(host=host, gpu=process.gpu),
            commands=("top -b -n 1 | head -20",)
            if process.gpu is None
            else (f"nvidia-smi -q -i {process.gpu} -d PERFORMANCE,CLOCK,POWER,TEMPERATURE,ECC",),
            evidence=(Observed.quoted("doctor check --deep", text),),
        )
