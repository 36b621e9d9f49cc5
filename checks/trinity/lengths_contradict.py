"""Judges trinity-lengths-contradict (TRI008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.shared.trinity_settings import Trinity, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
EXCEEDS = TOML["exceeds"]
MISSING = TOML["missing"]


KEYS = ("model.max_prompt_tokens", "model.max_response_tokens", "model.max_model_len")


@check(PROBLEM)
def lengths_contradict(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Only what the file says; a stage may say something else."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    given = [trinity.setting(key) for key in KEYS]
    if trinity.has_stages or any(each is not None and not each.known for each in given):
        return
    prompt, response, length = (whole(each.value) if each is not None else None for each in given)
    place = place_of(*given) or place_of(*trinity.settings("model.model_path"))
    if length is None and (prompt is None or response is None):
        yield found(PROBLEM, MISSING, where=place, commands=("max_model_len: 4096",), evidence=proofs(*given))
    elif length is not None and prompt is not None and response is not None and prompt + response > length:
        yield found(
            PROBLEM,
            EXCEEDS,
            prompt=prompt,
            response=response,
            length=length,
            sum=prompt + response,
            where=place,
            commands=(f"max_model_len: {prompt + response}",),
            evidence=proofs(*given),
        )
