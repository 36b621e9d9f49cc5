"""Judges PYT3270/ray, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.ray_use import asks_vllm_for_ray
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def ray_missing(launch: Launch, packages: Packages, serving: Serving | None) -> Judgement:
    """Judge programs that cannot do without."""
    names = {"verl": "veRL", "trinity": "Trinity-RFT"}
    of_vllm = asks_vllm_for_ray(serving)
    who = "vLLM with the Ray backend" if of_vllm else names.get(launch.kind)
    if who is None or (there := packages.has("ray")):
        return
    if there is None:
        yield Skip(packages.why_unknown("ray"))
        return
    yield found(
        PROBLEM,
        MESSAGE,
        who=who,
        of_vllm=of_vllm,
        commands=("pip install ray",),
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
    )
