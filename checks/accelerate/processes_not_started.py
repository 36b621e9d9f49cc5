"""`accelerate launch` starts one process although several are asked for.

## What it means
`--cpu`, `distributed_type: 'NO'`, or a command without a file on a machine with one visible GPU makes accelerate use
its simple launcher. It starts a single process and does not say that it leaves `num_processes` aside.
## What it does to a run
The global batch is smaller than planned, the other GPUs idle, and with TRL the batch need not be divisible any more.
## What to do
Say what kind of run it is: `--multi_gpu`, or the `distributed_type` of the file. On a CPU use `torchrun`.
## How it is found
`num_processes` against the launcher that accelerate chooses. Run with accelerate 1.15.0: `--cpu --num_processes 2`
starts one process.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/launch.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="ACC007", name="accelerate-processes-not-started", severity=WARNING, since="0.1")

KINDS = ("multi_gpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm")

MESSAGE = Message(
    en=Words(
        "{number} processes are asked for, and accelerate will start one ({why})",
        "accelerate chooses its launcher for a single process here and leaves `num_processes` aside without a word: "
        "the batch of a step is {number} times smaller than planned.",
        "Say that it is a run on several GPUs, or ask for one process.",
    ),
    zh=Words(
        "要求 {number} 个进程,而 accelerate 只会启动一个({why})",
        "此时 accelerate 选用单进程启动方式,不作提示就忽略 `num_processes`:每一步的批量比预期小 {number} 倍。",
        "声明这是多 GPU 运行,或只要求一个进程。",
    ),
)


@check(PROBLEM)
def processes_not_started(launch: Launch, world: World, accelerate: AccelerateConfig | None) -> Judgement:
    """A file made for one process is silent while there is one GPU: nobody loses anything."""
    if launch.kind != "accelerate" or any(launch.option(name) for name in KINDS):
        return
    settings = accelerate.settings if accelerate else {}
    number = launch.option("num_processes") or settings.get("num_processes")
    count = whole(number.value) if number else None
    if number is None or count is None or count < 2 or settings.get("mpirun_config.mpirun_hostfile"):
        return
    kind = settings.get("distributed_type")
    if launch.option("cpu"):
        why, commands = "`--cpu`", (f"torchrun --nproc_per_node {count}",)
    elif kind is not None:
        if kind.value not in {"NO", False} or (number.place and len(world.visible_gpus or ()) < 2):
            return
        why, commands = "`distributed_type: NO`", ("distributed_type: MULTI_GPU",)
    elif accelerate is not None:
        return
    elif world.visible_gpus is None:
        yield Skip("the GPUs of this machine cannot be seen")
        return
    elif len(world.visible_gpus) > 1:
        return
    else:
        why, commands = f"{len(world.visible_gpus)} GPU visible", ("--num_processes 1",)
    evidence = proofs(number, kind)
    yield found(PROBLEM, MESSAGE, number=count, why=why, where=place_of(kind), commands=commands, evidence=evidence)
