"""The accelerate configuration lacks what the launcher demands.

## What it means
`distributed_type` is missing, or `num_processes` is missing or -1 in a file for several processes and the command line
does not give it.
## What it does to a run
`accelerate launch` ends at once: `A distributed_type must be specified in the config file` or `You need to manually
pass in --num_processes using this config yaml`. The number of GPUs is counted only when there is no file at all.
## What to do
Write both keys, or give `--num_processes` on the command line.
## How it is found
The two keys of the file that the launcher reads.
In a log: by the launcher's exception.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/config/config_args.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/launch.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs, unread_config
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(
    id="ACC002", name="accelerate-config-incomplete", severity=ERROR, since="0.1", affects={"accelerate": ">=0.34"}
)

SIGNATURES = (
    Signature(r"ValueError: You need to manually pass in `--num_processes` using this config yaml"),
    Signature(  # accelerate before 0.12
        r"AttributeError: 'NoneType' object has no attribute 'lower'",
        frame=r"accelerate[\\/]commands[\\/]launch\.py:(?:simple|multi_gpu|deepspeed)_launcher$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the accelerate configuration does not say how many processes to start",
        "The file was written with `num_processes: -1`, so that each launch must name the number.",
        "Add `--num_processes N` (the number of GPUs over all machines) to the command, or write "
        "the number into the file.",
    ),
    zh=Words(
        "accelerate 配置没有说明启动多少个进程",
        "该文件以 `num_processes: -1` 写成,因此每次启动都必须指定数量。",
        "在命令中加 `--num_processes N`(所有机器的 GPU 总数),或把数量写入文件。",
    ),
)

NO_TYPE = Message(
    en=Words(
        "`{file}` has no `distributed_type`",
        "`accelerate launch` ends at once: `A distributed_type must be specified in the config file.`",
        "Add the line for the kind of run: MULTI_GPU, DEEPSPEED, FSDP, or 'NO' for one process.",
    ),
    zh=Words(
        "`{file}` 没有 `distributed_type`",
        "`accelerate launch` 会立即退出:`A distributed_type must be specified in the config file.`",
        "按运行方式加上这一行:MULTI_GPU、DEEPSPEED、FSDP,单进程用 'NO'。",
    ),
)
NO_NUMBER = Message(
    en=Words(
        "Neither `{file}` nor the command says how many processes to start",
        "With a configuration file accelerate does not count the GPUs and ends: `You need to manually pass in "
        "--num_processes using this config yaml.`",
        "Write `num_processes` into the file, or give it on the command line.",
    ),
    zh=Words(
        "`{file}` 和命令都没有说明要启动多少个进程",
        "有配置文件时 accelerate 不会去数 GPU,直接退出:`You need to manually pass in --num_processes using this config "
        "yaml.`",
        "在文件里写上 `num_processes`,或在命令行给出。",
    ),
)


@check(PROBLEM)
def config_incomplete(launch: Launch, accelerate: AccelerateConfig | None, world: World | None) -> Judgement:
    """A broken or empty file is another problem."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if launch.kind not in {"accelerate", "trl"} or accelerate.broken or not accelerate.settings:
        return
    name = accelerate.path.rpartition("/")[2]
    kind = accelerate.settings.get("distributed_type")
    if kind is None:
        line = (Where(file=accelerate.path), ("distributed_type: MULTI_GPU",))
        yield found(PROBLEM, NO_TYPE, file=name, where=line[0], commands=line[1])
        return
    number = accelerate.settings.get("num_processes")
    given = launch.option("num_processes") or (world is not None and world.processes is not None)
    if given or kind.value in {"NO", False}:
        return
    if number is None or number.value == -1:
        yield found(
            PROBLEM,
            NO_NUMBER,
            file=name,
            where=place_of(number) or Where(file=accelerate.path),
            commands=("--num_processes 8",),
            evidence=proofs(number, kind),
        )


LOG_MESSAGE_OLD = Message(
    en=Words(
        "`accelerate launch` of this release needs a configuration or `--mixed_precision`",
        "Accelerate 0.11 and older take the precision from the file that `accelerate config` writes, and there is "
        "none.",
        "Run `accelerate config` once (or `accelerate config default`), or add `--mixed_precision no` (`fp16`, "
        "`bf16`) to the command; better, upgrade: `pip install -U accelerate`.",
    ),
    zh=Words(
        "启动 `accelerate launch` 时既无配置也无 `--mixed_precision`,而此版本需要它",
        "Accelerate 0.11 及更早版本从 `accelerate config` 写出的文件读取精度,而该文件不存在。",
        "运行一次 `accelerate config`(或 `accelerate config default`),或在命令中加 `--mixed_precision no`(`fp16`、"
        "`bf16`);更好的做法是升级:`pip install -U accelerate`。",
    ),
)
_OLD = 1  # position of the pattern


def explain(hits: Hits) -> Finding:
    """The number of processes, or the precision of an old release."""
    message = LOG_MESSAGE_OLD if hits.first.signature == _OLD else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
