"""Judges verl-batched-tokens-below-length (VRL009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.verl_settings import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


KEY = ROLLOUT + "max_num_batched_tokens"


@check(PROBLEM)
def batched_tokens_below_length(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Asynchronous rollouts do not make this check."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = ("data.max_prompt_length", "data.max_response_length")
    tokens, prompt, response = verl.number(KEY), *map(verl.number, keys)
    window = verl.value(ROLLOUT + "max_model_len")
    if verl.value(ROLLOUT + "name") != "vllm" or verl.value(ROLLOUT + "mode") not in {None, "sync"}:
        return
    if not tokens or not prompt or not response or window is UNKNOWN:
        return
    length = whole(window) or prompt + response
    if tokens >= length or verl.is_on(ROLLOUT + "enable_chunked_prefill") is not True:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        tokens=tokens,
        length=length,
        where=place_of(*place_settings(verl, KEY, *keys)),
        commands=(f"{KEY}={length}",),
        evidence=verl.quoted(KEY, *keys),
    )
