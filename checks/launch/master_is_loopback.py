"""Several machines are told to meet at this machine's loopback address.

## What it means
The command asks for more than one machine, and the meeting point is `localhost` or 127.0.0.1, which every machine takes
for itself.
## What it does to a run
The first machine waits for the others, each of the others waits for itself, and all end with a time-out.
## What to do
Give the first machine's address as the others see it.
## How it is found
Number of machines and rendezvous address of the command.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
https://huggingface.co/docs/accelerate/basic_tutorials/launch
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="LCH012", name="master-is-loopback", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "{machines} machines are to meet at `{address}`, which each takes for itself",
        "The first machine waits for the others while each of the others waits for itself: the launch hangs and "
        "ends with a time-out.",
        "Give the address of the first machine as the others see it.",
    ),
    zh=Words(
        "{machines} 台机器要在 `{address}` 汇合,而每台机器都把它当成自己",
        "第一台机器在等其他机器,其他机器各自在等自己:启动会挂住,最后超时退出。",
        "填写其他机器能访问到的第一台机器的地址。",
    ),
)


@check(PROBLEM)
def master_is_loopback(launch: Launch, world: World) -> Judgement:
    """Judge only addresses that are loopback by definition."""
    address = world.master_addr or ""
    if (world.machines or 1) < 2 or not launch.trains:
        return
    if address not in {"localhost", "::1"} and not address.startswith("127."):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        machines=world.machines,
        address=address,
        commands=("hostname -I",),
        evidence=(Evidence("launch command", " ".join(launch.argv)),),
    )
