"""Judges VRL3088/tokens, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ACTOR, ROLLOUT, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


MOST = ACTOR + "ppo_max_token_len_per_gpu"
PARALLEL = ACTOR + "ulysses_sequence_parallel_size"
LENGTHS = ("data.max_prompt_length", "data.max_response_length")
#: a dataset of the user's own pads as it likes; workers of the newer kind cut sequences without padding
_OWN_DATA, _WORKERS = "data.custom_cls.path", "trainer.use_legacy_worker_impl"


@check(PROBLEM)
def tokens_below_one_sequence(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The assertion of `rearrange_micro_batches` in the actor's update; engines pad to the lengths of the settings."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_on(ACTOR + "use_dynamic_bsz") is not True or not verl.is_fsdp:
        return
    if verl.value(ROLLOUT + "name") not in {"vllm", "sglang"} or verl.value(_OWN_DATA) is not None:
        return
    if verl.value(_WORKERS) not in {None, "auto", "enable"}:
        return
    prompt, response = map(verl.number, LENGTHS)
    if (prompt, response) != (verl.number(ROLLOUT + "prompt_length"), verl.number(ROLLOUT + "response_length")):
        return
    tokens, parallel = verl.number(MOST), verl.number(PARALLEL)
    if not tokens or not parallel or not prompt or not response or tokens * parallel >= prompt + response:
        return
    least = -(-(prompt + response) // parallel)
    yield found(
        PROBLEM,
        MESSAGE,
        most=tokens * parallel,
        length=prompt + response,
        least=least,
        where=place_of(*place_settings(verl, MOST, *LENGTHS)),
        commands=(f"{MOST}={least}",),
        evidence=verl.quoted(MOST, PARALLEL, *LENGTHS),
    )
