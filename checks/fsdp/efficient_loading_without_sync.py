"""Judges fsdp-efficient-loading-without-sync (FSD003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def efficient_loading_without_sync(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Booleans of the file: text on the command line always counts as true there."""
    if not uses_fsdp(launch, accelerate):
        return
    sync = fsdp_setting(launch, accelerate, "sync_module_states")
    loading = fsdp_setting(launch, accelerate, "cpu_ram_efficient_loading")
    if sync is None or sync.value is not False or (loading is not None and not loading.value):
        return
    commands = ("fsdp_sync_module_states: true",)
    place, proof = place_of(sync, loading), proofs(sync, loading)
    yield found(PROBLEM, MESSAGE, where=place, commands=commands, evidence=proof)
