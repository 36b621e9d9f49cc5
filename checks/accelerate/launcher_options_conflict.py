"""Judges accelerate-options-conflict (ACC006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth, whole
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
TWO = TOML["two"]
ONE_PROCESS = TOML["one_process"]
ONE_GPU = TOML["one_gpu"]


EXCLUSIVE = ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp")
#: with one of these the launcher does not take `distributed_type` from the file
KINDS = (*EXCLUSIVE, "use_megatron_lm", "tpu_use_cluster")


@check(PROBLEM)
def launcher_options_conflict(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Options first, then what the file adds to them."""
    if launch.kind != "accelerate":
        return
    given = [option for option in (launch.option(name) for name in EXCLUSIVE) if option and truth(option.value)]
    if len(given) > 1:
        options = ", ".join(f"`--{option.name}`" for option in given)
        yield found(PROBLEM, TWO, options=options, evidence=proofs(*given))
    number = launch.option("num_processes")
    count = whole(number.value) if number else None
    multi = launch.option("multi_gpu")
    if multi is not None and count is not None and count < 2:
        yield found(PROBLEM, ONE_PROCESS, number=count, evidence=proofs(multi, number))
    yield from _single_gpu(launch, accelerate)


def _single_gpu(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    if accelerate is None or accelerate.broken:
        return
    settings = accelerate.settings
    kind = settings.get("distributed_type")
    flagged = [name for name in KINDS if launch.option(name)]
    multi = "multi_gpu" in flagged or (not flagged and kind is not None and kind.value == "MULTI_GPU")
    machines = launch.option("num_machines") or settings.get("num_machines")
    ids = launch.option("gpu_ids") or settings.get("gpu_ids")
    if not multi or ids is None or ids.value in {None, "all"} or (machines and (whole(machines.value) or 1) > 1):
        return
    if isinstance(ids.value, str) and len(ids.value.split(",")) < 2:
        yield found(PROBLEM, ONE_GPU, ids=ids.value, where=place_of(ids, kind), evidence=proofs(ids, kind))
