"""The numbers of machines, ranks and processes do not fit together.

## What it means
accelerate starts `num_processes // num_machines` processes on each machine. A remainder is dropped, a `machine_rank`
at or above `num_machines` belongs to no machine, and without `main_process_ip` the machines have nowhere to meet.
## What it does to a run
Fewer processes than asked for, none at all, or a launch that waits for machines that never come.
## What to do
Make `num_processes` the total over all machines, count `machine_rank` from 0, and give `main_process_ip`.
## How it is found
The values of the file and of the command line that the launcher uses.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/launch.py
https://huggingface.co/docs/accelerate/basic_tutorials/launch
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.base import Setting
from doctor.facts.launch import Launch

PROBLEM = Problem(id="ACC008", name="accelerate-machines-disagree", severity=ERROR, since="0.1")

REMAINDER = Message(
    en=Words(
        "`num_processes` {processes} is no multiple of `num_machines` {machines}",
        "`num_processes` counts over all machines, and accelerate starts {each} on each without a word: {lost} of them "
        "never start.",
        "Set `num_processes` to a multiple of {machines}.",
    ),
    zh=Words(
        "`num_processes` {processes} 不是 `num_machines` {machines} 的整数倍",
        "`num_processes` 是所有机器的总数,accelerate 不作提示,在每台机器上启动 {each} 个:有 {lost} 个不会启动。",
        "把 `num_processes` 设为 {machines} 的倍数。",
    ),
)
RANK = Message(
    en=Words(
        "`machine_rank` {rank} with `num_machines` {machines}",
        "Machines are numbered from 0 to {last}: this machine takes a place that does not exist, and the others wait "
        "for the one that is missing.",
        "Number the machines from 0.",
    ),
    zh=Words(
        "`num_machines` 为 {machines},而 `machine_rank` 是 {rank}",
        "机器从 0 编到 {last}:本机占了一个不存在的位置,其他机器会一直等缺少的那一台。",
        "机器编号从 0 开始。",
    ),
)
NO_ADDRESS = Message(
    en=Words(
        "{machines} machines are asked for, and `main_process_ip` is not given",
        "accelerate writes the text `None` where the address belongs, so the other machines look for a "
        "host of that name.",
        "Give the address of the first machine on every machine.",
    ),
    zh=Words(
        "要求 {machines} 台机器,却没有给 `main_process_ip`",
        "accelerate 会把文本 `None` 当作地址,其他机器就去找名为 None 的主机。",
        "在每台机器上都写明第一台机器的地址。",
    ),
)


def _setting(launch: Launch, accelerate: AccelerateConfig | None, name: str) -> Setting | None:
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
