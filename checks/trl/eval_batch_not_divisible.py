"""The evaluation batch of GRPO does not make whole groups.

## What it means
With evaluation on, processes x `per_device_eval_batch_size` must be a multiple of the number of generations
used for evaluation (`num_generations_eval` from 0.26.1, else `num_generations`). Gradient accumulation does
not count here. Releases 0.20 and 0.21 do not check it.
## What it does to a run
The configuration or the trainer raises a ValueError on every process. Nothing is trained.
## What to do
Change `per_device_eval_batch_size` or the number of generations used for evaluation.
## How it is found
The rule of the installed release is solved with the number of processes and the arguments of the run, where
an evaluation strategy is set.
In a log: by TRL's own exception, whose numbers are solved again.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v0.22.2/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor.checks.trl._batch import divisors, factor_for, nearest, rule_of
from doctor.checks.trl._helpers import argument, certainty, installed, is_grpo, quoted, whole_argument
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL007", name="grpo-eval-batch-not-divisible", severity=ERROR, since="0.1", affects={"trl": ">=0.15"}
)

SIGNATURES = (
    Signature(
        r"The (?:global|effective) eval batch size \((?P<first>\d{1,6}) [x*] (?P<second>\d{1,6})\)"
        r" must be (?:evenly )?divisible by (?:the number of generations (?:per prompt|used for"
        r" evaluation)|num_generations) \((?P<generations>\d{1,6})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{generations} generations per prompt do not divide the evaluation batch of {sum}",
        "TRL wants whole groups of completions in each evaluation batch (processes x per-device "
        "evaluation batch size) and stops before training starts.",
        "Set `per_device_eval_batch_size` so that it times the number of processes is a multiple of "
        "{generations} (for example {next} in all), set `num_generations_eval` (TRL 0.26.1 and newer) or "
        '`num_generations` to one of {fitting}, or set `eval_strategy="no"`.',
    ),
    zh=Words(
        "每个 prompt 的 {generations} 条生成不能整除评估批次 {sum}",
        "TRL 要求每个评估批次(进程数 x 每设备评估批大小)由完整的组构成,否则在训练开始前停止。",
        "调整 `per_device_eval_batch_size`,使其与进程数的乘积为 {generations} 的倍数(例如总计 {next});或"
        "把 `num_generations_eval`(TRL 0.26.1 及以上)或 `num_generations` 设为 {fitting} 之一;或设置 "
        '`eval_strategy="no"`。',
    ),
)

MESSAGE = Message(
    en=Words(
        "{generations} generations per prompt do not divide the evaluation batch of {total}",
        "TRL {version} wants whole groups in each evaluation batch ({processes} processes x {per_device} "
        "per device) and raises a ValueError before training starts.",
        "Use one of these values, or switch evaluation off.",
    ),
    zh=Words(
        "每个 prompt 的 {generations} 条生成不能整除大小为 {total} 的评估批次",
        "TRL {version} 要求每个评估批次由完整的组构成({processes} 个进程 x 每设备 {per_device}),否则在训练"
        "开始前抛出 ValueError。",
        "采用下列任一取值,或关闭评估。",
    ),
)


def _generations(training: Training, version: str, rule: str) -> int | None:
    if rule >= "H":
        own = argument(training, "num_generations_eval", version)
        if own is None:
            return None
        if own.value:
            return whole(own.value)
    return whole_argument(training, "num_generations", version)


@check(PROBLEM)
def eval_batch_not_divisible(training: Training, world: World, packages: Packages) -> Judgement:
    """Solve the rule of the installed release where evaluation is on."""
    version = installed(packages, "trl")
    strategy = training.value("eval_strategy")
    rule = rule_of(version)
    if not is_grpo(training) or rule in (None, "A", "F") or strategy in (None, "no", False):
        return
    per_device = whole_argument(training, "per_device_eval_batch_size", version)
    generations = _generations(training, version, rule or "")
    if per_device is None or generations is None or world.processes is None:
        yield Skip("processes, `per_device_eval_batch_size` or the number of generations is not known")
        return
    total = per_device * world.processes
    if generations < 2 or total % generations == 0:
        return
    size = factor_for(per_device, world.processes, generations)
    lines = [f"per_device_eval_batch_size={size}"] if size else []
    if rule is not None and rule >= "H":
        lines += [f"num_generations_eval={each}" for each in nearest(generations, divisors(total))]
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(training.get("per_device_eval_batch_size"), training.get("eval_strategy")),
        commands=tuple(lines),
        evidence=quoted(training.get("eval_strategy"), training.get("per_device_eval_batch_size")),
        generations=generations,
        total=total,
        processes=world.processes,
        per_device=per_device,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Solve the rule again with the numbers that TRL printed."""
    generations = int(hits.get("generations") or 0)
    total = int(hits.get("first") or 0) * int(hits.get("second") or 0)
    if generations < 1 or total < 1 or total % generations == 0:
        return None
    fitting = nearest(generations, divisors(total), 4)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        generations=generations,
        total=total,
        sum=f"{hits.get('first')} x {hits.get('second')} = {total}",
        fitting=", ".join(map(str, fitting)) or "none",
        next=(total // generations + 1) * generations,
    )
