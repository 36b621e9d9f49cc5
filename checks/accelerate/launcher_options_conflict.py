"""Options of `accelerate launch` contradict each other.

## What it means
Two of `--cpu`, `--multi_gpu`, `--tpu`, `--use_deepspeed` and `--use_fsdp` are given, `--multi_gpu` is asked for with
one process, or several processes are to share a single `gpu_ids`.
## What it does to a run
`accelerate launch` ends at once: `You can only use one of ...`, `You need to use at least 2 processes to use
--multi_gpu`, `Less than two GPU ids were configured and tried to run on multiple GPUs`.
## What to do
Keep one of the options, raise `--num_processes`, or name as many GPUs as processes.
## How it is found
The options and keys that the launcher compares before it starts anything.
In a log: by the launcher's exception.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/launch.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth, whole
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

PROBLEM = Problem(id="ACC006", name="accelerate-options-conflict", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: You can only use one of `--cpu`, `--multi_gpu`, [^\n]{0,80} at a time"),
    Signature(r"ValueError: You need to use at least 2 processes to use `--multi_gpu`"),
    Signature(r"Less than two GPU ids were configured and tried to run on multiple GPUs"),
)

LOG_MESSAGE = Message(
    en=Words(
        "options of `accelerate launch` contradict each other",
        "CPU, several GPUs, TPU, DeepSpeed and FSDP exclude each other, on the command line and in the "
        "configuration file together; several GPUs need two processes and two GPU ids.",
        "Keep the one that is meant: for one GPU leave `--multi_gpu` out (`--num_processes 1`), "
        "for several give `--num_processes N` and `--gpu_ids all`; look at the file that is used "
        "when none is named, `~/.cache/huggingface/accelerate/default_config.yaml`.",
    ),
    zh=Words(
        "`accelerate launch` 的选项互相矛盾",
        "命令行与配置文件合起来,`--cpu`、`--multi_gpu`、`--tpu`、`--use_deepspeed`、`--use_fsdp` "
        "至多给出一个,而 `--multi_gpu` 需要两个进程和两个 GPU 编号。",
        "只保留所要的一个:单卡不要 `--multi_gpu`(`--num_processes 1`),多卡给出 `--num_processes "
        "N` 和 `--gpu_ids all`;查看未指定时使用的文件 `~/.cache/huggingface/accelerate/"
        "default_config.yaml`。",
    ),
)

EXCLUSIVE = ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp")
#: with one of these the launcher does not take `distributed_type` from the file
KINDS = (*EXCLUSIVE, "use_megatron_lm", "tpu_use_cluster")

TWO = Message(
    en=Words(
        "{options} are given together, and accelerate takes one of them",
        "The launcher ends at once: `You can only use one of --cpu, --multi_gpu, --tpu, --use_deepspeed, --use_fsdp`.",
        "Keep one of them.",
    ),
    zh=Words(
        "同时给了 {options},而 accelerate 只接受其中一个",
        "启动器会立即退出:`You can only use one of --cpu, --multi_gpu, --tpu, --use_deepspeed, --use_fsdp`。",
        "只保留一个。",
    ),
)
ONE_PROCESS = Message(
    en=Words(
        "`--multi_gpu` is asked for with `--num_processes {number}`",
        "The launcher ends at once: `You need to use at least 2 processes to use --multi_gpu`.",
        "Raise `--num_processes`, or leave `--multi_gpu` out.",
    ),
    zh=Words(
        "给了 `--multi_gpu`,而 `--num_processes` 是 {number}",
        "启动器会立即退出:`You need to use at least 2 processes to use --multi_gpu`。",
        "增大 `--num_processes`,或去掉 `--multi_gpu`。",
    ),
)
ONE_GPU = Message(
    en=Words(
        "Multi-GPU training is asked for with the single GPU `{ids}`",
        "The launcher ends at once: `Less than two GPU ids were configured and tried to run on multiple GPUs`.",
        "Name as many GPUs as processes, or write `gpu_ids: all`.",
    ),
    zh=Words(
        "要求多 GPU 训练,却只指定了一张 GPU `{ids}`",
        "启动器会立即退出:`Less than two GPU ids were configured and tried to run on multiple GPUs`。",
        "指定与进程数相同的 GPU,或写 `gpu_ids: all`。",
    ),
)


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
