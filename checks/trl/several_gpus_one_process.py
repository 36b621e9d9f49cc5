"""One process sees several GPUs.

## What it means
Without a launcher the Trainer wraps a model in `nn.DataParallel` when it sees several GPUs. TRL 1.15 and
newer refuse that. From TRL 0.26 a model given by name is loaded with `device_map="auto"` in a single
process instead, which spreads its layers over the GPUs.
## What it does to a run
TRL 1.15 and newer raise a ValueError for a model that the script loaded. Older ones train in DataParallel,
where the forward of the replicas does not see what GRPO patches. A model spread over the GPUs keeps one of
them busy at a time.
## What to do
Start one process per GPU with a launcher, or make one GPU visible.
## How it is found
The command is plain `python` with one process, and more than one GPU is visible to it.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.15.0/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/blob/v1.15.0/trl/trainer/utils.py
"""

from __future__ import annotations

import shlex

from doctor.checks.trl._helpers import COMMAND_LINE, installed, is_grpo, is_plain_python
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL021", name="several-gpus-one-process", severity=WARNING, since="0.1", affects={"trl": ">=0.14"}
)

SIGNATURES = (
    Signature(r"ValueError: (?P<trainer>\w{1,60}) does not support `nn\.DataParallel`, which `Trainer` uses"),
)

LOG_MESSAGE = Message(
    en=Words(
        "one process saw several GPUs, and `{trainer}` refuses `nn.DataParallel`",
        "The script was started by plain `python` with more than one GPU visible, so the Trainer would "
        "wrap the model in `nn.DataParallel`, which TRL 1.15 and newer refuse.",
        "Start one process per GPU with `accelerate launch --num_processes N train.py` or `torchrun "
        "--nproc-per-node N`, or show one GPU only: `CUDA_VISIBLE_DEVICES=0`.",
    ),
    zh=Words(
        "单个进程可见多张 GPU,而 `{trainer}` 拒绝 `nn.DataParallel`",
        "脚本由普通 `python` 启动且可见多张 GPU,Trainer 会用 `nn.DataParallel` 包装模型,TRL 1.15 及以上会拒绝。",
        "用 `accelerate launch --num_processes N train.py` 或 `torchrun --nproc-per-node N` 每张 GPU 启动"
        "一个进程,或只显示一张 GPU:`CUDA_VISIBLE_DEVICES=0`。",
    ),
)

LOG_COMMANDS = ("CUDA_VISIBLE_DEVICES=0 python train.py",)

REFUSED = Message(
    en=Words(
        "plain `python` sees {count} GPUs; GRPO of TRL {version} refuses DataParallel",
        "The Trainer takes the {count} GPUs into `nn.DataParallel`, and TRL raises a ValueError before the first step.",
        "Start one process per GPU, or make one GPU visible.",
    ),
    zh=Words(
        "普通 `python` 进程可见 {count} 张 GPU;TRL {version} 的 GRPO 拒绝 DataParallel",
        "Trainer 会把 {count} 张 GPU 放进 `nn.DataParallel`,TRL 在第一步之前抛出 ValueError。",
        "每张 GPU 启动一个进程,或只让一张 GPU 可见。",
    ),
)

WRAPPED = Message(
    en=Words(
        "plain `python` sees {count} GPUs and will train in DataParallel",
        "The Trainer wraps the model in `nn.DataParallel`: slow, with the memory of the first GPU as the "
        "limit, and not supported by GRPO (TRL 1.15 and newer refuse it).",
        "Start one process per GPU, or make one GPU visible.",
    ),
    zh=Words(
        "普通 `python` 进程可见 {count} 张 GPU,将以 DataParallel 训练",
        "Trainer 会用 `nn.DataParallel` 包装模型:速度慢,受第一张 GPU 显存限制,且 GRPO 不支持(TRL 1.15 及以"
        "上版本会拒绝)。",
        "每张 GPU 启动一个进程,或只让一张 GPU 可见。",
    ),
)

EITHER = Message(
    en=Words(
        "one process sees {count} GPUs, and no launcher starts more processes",
        "TRL {version} spreads a model that is given by name over the GPUs, one of which works at a time; "
        "for a model that the script loaded it meets DataParallel, which GRPO does not support.",
        "Start one process per GPU, or make one GPU visible.",
    ),
    zh=Words(
        "单个进程可见 {count} 张 GPU,且没有启动器启动更多进程",
        "TRL {version} 会把按名称给出的模型分散到这些 GPU 上,同一时刻只有一张在工作;对脚本自行加载的模型则"
        "会进入 GRPO 不支持的 DataParallel。",
        "每张 GPU 启动一个进程,或只让一张 GPU 可见。",
    ),
)

SPREAD = Message(
    en=Words(
        "one process sees {count} GPUs: TRL {version} spreads the layers over them",
        'A model given by name is loaded with `device_map="auto"` in a single process, so its layers lie '
        "on {count} GPUs and one of them works at a time.",
        "Start one process per GPU, or make one GPU visible.",
    ),
    zh=Words(
        "单个进程可见 {count} 张 GPU:TRL {version} 会把各层分散到这些 GPU 上",
        '单进程下按名称给出的模型会以 `device_map="auto"` 加载,各层分布在 {count} 张 GPU 上,同一时刻只有一张在工作。',
        "每张 GPU 启动一个进程,或只让一张 GPU 可见。",
    ),
)


def _message(training: Training, packages: Packages, script: Script | None) -> Message:
    """Choose what will happen: a name is loaded by TRL, an object by the script."""
    given = training.trainer_arguments.get("model")
    by_name = given is not None and given.known and isinstance(given.value, str)
    loads = script is not None and any("AutoModel" in call.origin for call in script.calls_of("from_pretrained"))
    if packages.matches("trl", "<0.26"):
        return WRAPPED
    if by_name:
        return SPREAD
    if not loads:
        return EITHER
    return REFUSED if packages.matches("trl", ">=1.15") else WRAPPED


@check(PROBLEM)
def several_gpus_one_process(
    training: Training,
    launch: Launch,
    world: World,
    environment: Environment,
    packages: Packages,
    script: Script | None,
) -> Judgement:
    """Judge plain `python` only; a launcher makes a process per GPU or is told not to."""
    if not is_grpo(training) or truth(training.value("use_cpu")):
        return
    if not is_plain_python(launch, world, environment, training):
        return
    if world.visible_gpus is None:
        yield Skip("the visible GPUs are not known")
        return
    if len(world.visible_gpus) < 2 or "device_map" in training.model_arguments:
        return
    message = _message(training, packages, script)
    again = shlex.join((launch.script or "train.py", *launch.script_args))
    yield found(
        PROBLEM,
        message,
        where=place_of(otherwise=training.trainer_place),
        evidence=(Evidence(COMMAND_LINE, " ".join(launch.argv)),),
        commands=(
            f"accelerate launch --num_processes {len(world.visible_gpus)} {again}",
            f"CUDA_VISIBLE_DEVICES={world.visible_gpus[0]} {launch.program or 'python'} {again}",
        ),
        severity=ERROR if message is REFUSED else WARNING,
        confidence=LIKELY,
        count=len(world.visible_gpus),
        version=installed(packages, "trl"),
    )
