"""Batch arithmetic of TRL's GRPO: prompts, completions, steps and hours.

One generation makes `batch x processes x steps_per_generation` completions, `generations` for each prompt; it is cut
into micro batches, used `iterations` times, and `accumulation` of them make a step of the optimizer
(https://github.com/huggingface/trl/blob/main/trl/trainer/grpo_config.py, `__post_init__`, and `_prepare_inputs` and
`_get_train_sampler` of grpo_trainer.py).
"""

from __future__ import annotations

from doctor.base.record import record
from doctor.sizing.setup import Setup


@record
class Batches:
    """Counts of one run; None where a number is missing or the batch cannot be cut.

    Args:
        completions: of one generation; `prompts`: distinct ones in it (None: not a whole number).
        completions_a_step: used by one step of the optimizer; `prompts_a_step` likewise.
        tokens: most tokens of one generation, prompts included.
        suggested: numbers of generations of a prompt that divide the batch.

    """

    completions: int
    prompts: int | None
    completions_a_step: int
    prompts_a_step: float
    tokens: int
    suggested: tuple[int, ...] = ()
    steps_an_epoch: float | None = None
    hours: float | None = None


def batches_of(
    setup: Setup, *, rows: int | None = None, epochs: float = 1.0, step_seconds: float | None = None
) -> Batches:
    """Count.

    Args:
        setup: the run.
        rows: prompts of the data set.
        epochs: how often it is gone through.
        step_seconds: measured time of a step of the optimizer.

    """
    ranks = max(1, setup.trainers)
    completions = setup.batch * ranks * setup.generation_steps
    a_step = setup.batch * ranks * setup.accumulation
    whole = completions % setup.generations == 0
    prompts = completions // setup.generations if whole else None
    steps = None
    if rows and prompts:
        rounds = max(1, rows // prompts)
        steps = rounds * setup.generation_steps * setup.iterations / setup.accumulation
    return Batches(
        completions=completions,
        prompts=prompts,
        completions_a_step=a_step,
        prompts_a_step=a_step / setup.generations,
        tokens=completions * setup.sequence,
        suggested=() if whole else _divisors(completions, setup.generations),
        steps_an_epoch=steps,
        hours=steps * epochs * step_seconds / 3600 if steps and step_seconds else None,
    )


def _divisors(completions: int, wanted: int) -> tuple[int, ...]:
    """The nearest numbers of generations that divide the batch: one below, one above. GRPO needs two at least."""
    all_of_them = [each for each in range(2, completions + 1) if completions % each == 0]
    below = [each for each in all_of_them if each < wanted]
    above = [each for each in all_of_them if each > wanted]
    return (*below[-1:], *above[:1])
