"""`generation_batch_size` is no multiple of the batch of one step.

## What it means
One generation feeds whole micro-steps: processes x per-device batch size completions each.
## What it does to a run
`GRPOConfig` raises ValueError on every process.
## What to do
Choose a multiple, or set `steps_per_generation` instead.
## How it is found
Before launch, by the same division. In a log: by TRL's own exception, whose numbers are solved again.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.checks.trl._batch import train_batch
from doctor.checks.trl._helpers import certainty, installed, is_grpo, quoted, unsloth_replaces
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL035", name="generation-batch-not-multiple", severity=ERROR, since="0.1", affects={"trl": ">=0.18"}
)

SIGNATURES = (
    Signature(
        r"ValueError: generation_batch_size \((?P<size>\d{1,7})\) must be divisible by the global"
        r" batch size \((?P<step>\d{1,7})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`generation_batch_size={size}` is no multiple of {step} (processes x per-device batch size)",
        "One generation must feed whole training steps of {step} completions.",
        "Set `generation_batch_size` to a multiple of {step}, for example {below} or {above} (and of "
        "`num_generations`), or leave it out and set `steps_per_generation`.",
    ),
    zh=Words(
        "`generation_batch_size={size}` 不是 {step}(进程数 x 每设备批大小)的倍数",
        "一次生成必须供给若干完整的训练步,每步 {step} 条生成。",
        "把 `generation_batch_size` 设为 {step} 的倍数,例如 {below} 或 {above}(同时也是 "
        "`num_generations` 的倍数),或不设它而设置 `steps_per_generation`。",
    ),
)


@check(PROBLEM)
def generation_batch_not_multiple(
    training: Training, world: World, packages: Packages, script: Script | None
) -> Judgement:
    """Solve the rule where the size is said and `steps_per_generation`, which excludes it, is not."""
    setting = training.get("generation_batch_size")
    if not is_grpo(training) or setting is None or training.get("steps_per_generation") is not None:
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces GRPOConfig and changes batch sizes that do not fit")
        return
    batch = train_batch(training, world, installed(packages, "trl"))
    if isinstance(batch, str):
        yield Skip(batch)
        return
    step = batch.processes * batch.per_device
    if batch.given is None or step < 1 or batch.given % step == 0:
        return
    below = max(step, batch.given // step * step)
    sum_of_step = f"{batch.processes} processes x {batch.per_device} per device = {step} completions"
    yield found(
        PROBLEM,
        LOG_MESSAGE,
        confidence=certainty(training),
        where=place_of(setting),
        evidence=(*quoted(setting), Evidence("batch rule", sum_of_step)),
        commands=tuple(f"generation_batch_size={each}" for each in (below, batch.given // step * step + step)),
        size=batch.given,
        step=step,
        below=below,
        above=batch.given // step * step + step,
    )


def explain(hits: Hits) -> Finding | None:
    """Name the nearest multiples."""
    size, step = int(hits.get("size") or 0), int(hits.get("step") or 0)
    if step < 1 or size % step == 0:
        return None
    below = max(step, size // step * step)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        size=size,
        step=step,
        below=below,
        above=below + step,
    )
