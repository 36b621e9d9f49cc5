"""Judges accelerate-machines-disagree (ACC008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
REMAINDER = TOML["remainder"]
RANK = TOML["rank"]
NO_ADDRESS = TOML["no_address"]


def _setting(launch: Launch, accelerate: AccelerateConfig | None, name: str) -> Observed | None:
    return launch.option(name) or (accelerate.settings.get(name) if accelerate else None)


@check(PROBLEM)
def machines_disagree(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Only where more than one machine is asked for; DeepSpeed's ssh launchers find the address themselves."""
    number = _setting(launch, accelerate, "num_machines")
    machines = whole(number.value) if number else None
    if launch.kind != "accelerate" or number is None or machines is None or machines < 2:
        return
    total = _setting(launch, accelerate, "num_processes")
    processes = whole(total.value) if total else None
    if total is not None and processes is not None and processes > 0 and processes % machines:
        each = processes // machines
        yield found(
            PROBLEM,
            REMAINDER,
            processes=processes,
            machines=machines,
            each=each,
            lost=processes - each * machines,
            where=place_of(total, number),
            commands=(f"--num_processes {(each + 1) * machines}",),
            evidence=proofs(total, number),
        )
    rank = _setting(launch, accelerate, "machine_rank")
    place = whole(rank.value) if rank else None
    if rank is not None and place is not None and not 0 <= place < machines:
        spot = place_of(rank, number)
        yield found(PROBLEM, RANK, rank=place, machines=machines, last=machines - 1, where=spot, evidence=proofs(rank))
    address = _setting(launch, accelerate, "main_process_ip")
    if (address is None or address.value in {None, ""}) and not _finds_address_itself(launch, accelerate):
        commands = ("--main_process_ip ADDRESS_OF_THE_FIRST_MACHINE",)
        spot, proof = place_of(number), proofs(number)
        yield found(PROBLEM, NO_ADDRESS, machines=machines, where=spot, commands=commands, evidence=proof)


def _finds_address_itself(launch: Launch, accelerate: AccelerateConfig | None) -> bool:
    """Under DeepSpeed every multi-node launcher but `standard` hands the address to DeepSpeed."""
    kind = accelerate.settings.get("distributed_type") if accelerate else None
    by_deepspeed = launch.option("use_deepspeed") is not None or (kind is not None and kind.value == "DEEPSPEED")
    name = launch.option("deepspeed_multinode_launcher")
    if name is None and accelerate is not None:
        name = accelerate.settings.get("deepspeed_config.deepspeed_multinode_launcher")
    return by_deepspeed and (name is None or name.value != "standard")
