"""The completions of a GRPO step do not make whole groups.

## What it means
GRPO compares the completions of one prompt with each other, so a generation batch must hold whole groups: a
multiple of `num_generations`. Which numbers make up the batch changed between releases: processes x
per-device batch until 0.16, times gradient accumulation in 0.17, and from 0.18 `generation_batch_size` or
processes x per-device batch x `steps_per_generation` (by default the gradient accumulation).
## What it does to a run
The configuration or the trainer raises a ValueError about divisibility on every process, after the model
was loaded in releases up to 0.17. Nothing is trained.
## What to do
Change one of the numbers: the number of generations, the per-device batch size or, from 0.17, the gradient
accumulation. In ms-swift the batch is counted as from 0.18 on, with a per-device batch of 1, no accumulation and 8
generations unless told otherwise.
## How it is found
The rule of the installed release is solved with the number of processes that the launch command makes
(processes, not GPUs) and the arguments of the run.
In a log: by TRL's own exception, whose numbers are solved again.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v0.16.1/trl/trainer/grpo_trainer.py
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rlhf_trainers/args_mixin.py
"""

from __future__ import annotations

from math import prod

from doctor.checks.trl._batch import divisors, layout, mended, nearest, train_batch
from doctor.checks.trl._helpers import certainty, config_place, installed, is_grpo, unsloth_replaces
from doctor.checks.trl._swift import is_swift_grpo, swift_batch
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="TRL006", name="grpo-batch-not-divisible", severity=ERROR, since="0.1", affects={"trl": ">=0.15"})

SIGNATURES = (
    Signature(
        r"The global train batch size \((?P<processes>\d{1,6}) x (?P<per_device>\d{1,6})\) must be"
        r" evenly divisible by the number of generations per prompt \((?P<generations>\d{1,6})\)",
    ),
    Signature(
        r"The effective train batch size \((?P<processes>\d{1,6}) x (?P<per_device>\d{1,6}) x"
        r" (?P<steps>\d{1,6})\) must be evenly divisible by the number of generations per prompt"
        r" \((?P<generations>\d{1,6})\)",
    ),
    Signature(
        r"generation_batch_size \((?P<total>\d{1,7})\) must be divisible by num_generations"
        r" \((?P<generations>\d{1,6})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`num_generations={generations}` does not divide the generation batch of {sum}",
        "TRL wants whole groups of {generations} completions in each generation batch (processes x "
        "per-device batch size x gradient accumulation) and stops on every process.",
        "Set `num_generations` to one of {fitting}, or make the batch a multiple of {generations}, for "
        "example {next}, through `per_device_train_batch_size` or `gradient_accumulation_steps`.",
    ),
    zh=Words(
        "`num_generations={generations}` 不能整除生成批次 {sum}",
        "TRL 要求每个生成批次(进程数 x 每设备批大小 x 梯度累积)由完整的 {generations} 条一组构成,否则每个"
        "进程都会停止。",
        "把 `num_generations` 设为 {fitting} 之一,或通过 `per_device_train_batch_size` 或 "
        "`gradient_accumulation_steps` 使批次成为 {generations} 的倍数,例如 {next}。",
    ),
)

LOG_MESSAGE_ONE = Message(
    en=Words(
        "`num_generations={generations}` does not fit a generation batch of {sum} completion",
        "TRL wants whole groups of {generations} completions in each generation batch, and this batch "
        "cannot hold even two.",
        "Raise `per_device_train_batch_size` or `gradient_accumulation_steps` until their product with "
        "the number of processes is {next}.",
    ),
    zh=Words(
        "`num_generations={generations}` 不适合只有 {sum} 条生成的批次",
        "TRL 要求每个生成批次由完整的 {generations} 条一组构成,而这个批次连两条都放不下。",
        "提高 `per_device_train_batch_size` 或 `gradient_accumulation_steps`,使其与进程数的乘积为 {next}。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`num_generations={generations}` does not divide the {completions} completions of a step",
        "TRL {version} wants whole groups of {generations} completions in each generation batch and raises "
        "a ValueError about divisibility on every process.",
        "Use one of these values; each of them alone is enough.",
    ),
    zh=Words(
        "`num_generations={generations}` 不能整除每步的 {completions} 条生成结果",
        "TRL {version} 要求每个生成批次由完整的 {generations} 条一组构成,否则每个进程都会抛出关于整除的 ValueError。",
        "采用下列任一取值即可。",
    ),
)


SWIFT = Message(
    en=Words(
        "`num_generations={generations}` does not divide the {completions} completions of a step",
        "ms-swift {version} wants whole groups of {generations} completions in each generation batch (processes x "
        "per-device batch size x gradient accumulation, 1 unless told otherwise) and raises a ValueError about "
        "divisibility on every process.",
        "Use one of these values; each of them alone is enough.",
    ),
    zh=Words(
        "`num_generations={generations}` 不能整除每步的 {completions} 条生成结果",
        "ms-swift {version} 要求每个生成批次(进程数 x 每设备批大小 x 梯度累积,未指定时为 1)由完整的 {generations} 条"
        "一组构成,否则每个进程都会抛出关于整除的 ValueError。",
        "采用下列任一取值即可。",
    ),
)


@check(PROBLEM)
def batch_not_divisible(
    training: Training, world: World, packages: Packages, dataset: Dataset | None, script: Script | None
) -> Judgement:
    """Solve the rule of the installed release."""
    if not is_grpo(training):
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces GRPOConfig and changes batch sizes that do not fit")
        return
    version = installed(packages, "trl")
    batch = train_batch(training, world, version)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    if batch.rule == "A" or batch.generations < 2 or batch.completions < 1:
        return  # no such rule, or another problem's business
    if batch.completions % batch.generations == 0:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(training.get("num_generations"), otherwise=config_place(training)),
        commands=mended(batch),
        evidence=(Evidence("batch rule", batch.sum), *layout(batch, dataset)),
        generations=batch.generations,
        completions=batch.completions,
        version=version,
    )


@check(PROBLEM)
def swift_batch_not_divisible(
    training: Training, world: World, packages: Packages, dataset: Dataset | None
) -> Judgement:
    """Solve the rule of ms-swift, which has defaults of its own."""
    if not is_swift_grpo(training):
        return
    batch = swift_batch(training, world, packages)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    if batch.generations < 2 or batch.completions < 1 or batch.completions % batch.generations == 0:
        return
    yield found(
        PROBLEM,
        SWIFT,
        where=place_of(training.get("num_generations")),
        commands=tuple(f"--{line.replace('=', ' ')}" for line in mended(batch)),
        evidence=(Evidence("batch rule", batch.sum), *layout(batch, dataset)),
        generations=batch.generations,
        completions=batch.completions,
        version=installed(packages, "ms-swift"),
    )


def explain(hits: Hits) -> Finding | None:
    """Solve the rule again with the numbers that TRL printed."""
    generations = int(hits.get("generations") or 0)
    factors = [int(each) for each in (hits.get("processes"), hits.get("per_device"), hits.get("steps")) if each]
    total = int(hits.get("total") or 0) or prod(factors)
    if generations < 1 or total < 1 or total % generations == 0:
        return None
    fitting = nearest(generations, divisors(total), 4)
    next_batch = (total // generations + 1) * generations
    return found(
        PROBLEM,
        LOG_MESSAGE if fitting else LOG_MESSAGE_ONE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=tuple(f"num_generations={each}" for each in fitting),
        generations=generations,
        sum=" x ".join(map(str, factors)) + f" = {total}" if factors else str(total),
        fitting=", ".join(map(str, fitting)),
        next=next_batch,
    )
