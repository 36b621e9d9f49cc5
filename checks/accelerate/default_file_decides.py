"""A configuration file that nobody named decides how the run is started.

## What it means
`accelerate launch` was given no `--config_file`, and a `default_config.yaml` lies in the cache of this user. It is
taken as if it had been named.
## What it does to a run
Number of processes, DeepSpeed or FSDP, and precision come from a file that may be from another project.
## What to do
Name the file that belongs to this run, or look at what the default one says.
## How it is found
The file in the cache is read when no other is named.
## References
https://huggingface.co/docs/accelerate/basic_tutorials/launch
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs, unread_config
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

PROBLEM = Problem(id="ACC010", name="accelerate-default-file-decides", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{file}` in the cache, which the command does not name, sets {settings}",
        "accelerate takes it as if it had been named on the command line.",
        "Name the configuration file of this run, or remove the default one.",
    ),
    zh=Words(
        "缓存中的 `{file}` 并未在命令中指定,却决定了 {settings}",
        "accelerate 会像在命令行上指定了它一样使用它。",
        "指定本次运行的配置文件,或删除默认配置。",
    ),
)


@check(PROBLEM)
def default_file_decides(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Worth knowing only where it decides the number or the kind of the processes."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if launch.kind != "accelerate" or not accelerate.is_default or accelerate.broken or launch.option("cpu"):
        return
    kind, number = (accelerate.settings.get(name) for name in ("distributed_type", "num_processes"))
    decided = [] if launch.option("num_processes") or number is None else [number]
    flags = ("multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "tpu")
    if kind is not None and kind.value not in {"NO", False} and not any(launch.option(name) for name in flags):
        decided.insert(0, kind)
    if not decided or (len(decided) == 1 and decided[0] is number and number is not None and number.value == 1):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        file=accelerate.path.rpartition("/")[2],
        settings=", ".join(f"`{each.name}: {each.value}`" for each in decided),
        where=Where(file=accelerate.path),
        commands=("accelerate launch --config_file FILE",),
        evidence=proofs(*decided),
    )
