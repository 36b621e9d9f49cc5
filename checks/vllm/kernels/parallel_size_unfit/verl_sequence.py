"""Judges VLL9193/verl_sequence, a row of parallel-size-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ACTOR, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sequence_parallel_splits_heads(
    verl_config: VerlConfig, packages: Packages, launch: Launch, model: Model
) -> Judgement:
    """The assertions of `apply_monkey_patch`."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    key = ACTOR + "ulysses_sequence_parallel_size"
    parallel, heads, keys = verl.number(key), model.attention_heads, model.kv_heads
    if not parallel or parallel < 2 or not heads or not verl.is_fsdp:
        return
    if heads % parallel:
        kind, wrong = "attention", heads
    elif keys and keys % parallel and parallel % keys:
        kind, wrong = "key-value", keys
    else:
        return
    fitting = [size for size in range(1, heads + 1) if not heads % size and (not keys or not keys % size)]
    yield found(
        PROBLEM,
        MESSAGE,
        parallel=parallel,
        heads=wrong,
        kind=kind,
        model=model.name,
        fitting=", ".join(map(str, fitting)),
        where=place_of(*place_settings(verl, key)),
        commands=(f"{key}={max(size for size in fitting if size <= parallel)}",),
        evidence=(*verl.quoted(key), Observed.quoted(model.stated_in, f"{heads} heads, {keys} key-value heads")),
    )
