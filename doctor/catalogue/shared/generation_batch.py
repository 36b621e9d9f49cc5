"""The generation batch of GRPO by TRL's own rules, and the values nearby that would satisfy them.

The rules by release (A to I) are in doctor/data/trl.json; TRL states them in grpo_config.py, until 0.17 in
grpo_trainer.py:
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.settings import whole
from doctor.catalogue.shared.trainers import argument, whole_argument
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training
from doctor.facts.world import World

#: arguments that decide the size of a generation batch
NAMES = frozenset({
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_generations", "generation_batch_size",
    "steps_per_generation",
})  # fmt: skip


@record
class Batch:
    """What decides the number of completions of one generation batch.

    Args:
        steps: micro-batches that one generation feeds; 1 where the rule does not count them.
        given: an explicit `generation_batch_size`, else None.

    """

    rule: str
    processes: int
    per_device: int
    steps: int
    generations: int
    steps_name: str = "gradient_accumulation_steps"
    given: int | None = None

    @property
    def completions(self) -> int:
        """Completions of one generation batch over all processes."""
        return self.given if self.given is not None else self.processes * self.per_device * self.steps

    @property
    def sum(self) -> str:
        """The multiplication, for evidence."""
        if self.given is not None:
            return f"generation_batch_size={self.given}"
        parts = f"{self.processes} processes x {self.per_device} per device"
        if self.rule >= "C":
            parts += f" x {self.steps} {self.steps_name}"
        return f"{parts} = {self.completions} completions"


def rule_of(trl_version: str) -> str | None:
    """Return the letter of the batch rule of a release, None for one without GRPO or unknown."""
    release = data.trl_release(trl_version)
    return release.batch_rule if release else None


def train_batch(training: Training, world: World, trl_version: str) -> Batch | str:
    """Return the training batch, or why it cannot be told."""
    rule = rule_of(trl_version)
    if rule is None:
        return f"the batch rule of TRL {trl_version} is not in the doctor's data"
    if world.processes is None:
        return "the number of processes is not known"
    if changed := sorted(training.set_later & NAMES):
        return f"`{changed[0]}` is changed after the configuration was built"
    numbers = {
        name: whole_argument(training, name, trl_version)
        for name in ("per_device_train_batch_size", "gradient_accumulation_steps", "num_generations")
    }
    missing = [name for name, value in numbers.items() if value is None]
    optional: dict[str, int | None] = {}
    for name in ("generation_batch_size", "steps_per_generation") if rule >= "D" else ():
        value = argument(training, name, trl_version)
        missing += [name] if value is None else []
        optional[name] = whole(value.value) if value else None
    if missing:
        return f"`{missing[0]}` could not be read without running the script"
    return _batch(rule, world.processes, numbers, optional)


def _batch(rule: str, processes: int, numbers: dict[str, int | None], optional: dict[str, int | None]) -> Batch:
    steps = optional.get("steps_per_generation")
    counted = steps if steps is not None else numbers["gradient_accumulation_steps"]
    return Batch(
        rule=rule,
        processes=processes,
        per_device=numbers["per_device_train_batch_size"] or 0,
        steps=(counted or 0) if rule >= "C" else 1,
        generations=numbers["num_generations"] or 0,
        steps_name="steps_per_generation" if steps is not None else "gradient_accumulation_steps",
        given=optional.get("generation_batch_size"),
    )


def divisors(total: int) -> tuple[int, ...]:
    """List numbers of generations, from 2, that divide `total`."""
    return tuple(each for each in range(2, total + 1) if total % each == 0)


def nearest(wanted: int, candidates: tuple[int, ...], count: int = 1) -> tuple[int, ...]:
    """Return the `count` candidates nearest to `wanted`, in order of size."""
    return tuple(sorted(sorted(candidates, key=lambda each: (abs(each - wanted), each))[:count]))


def factor_for(wanted: int, others: int, divisor: int) -> int | None:
    """Return the number nearest to `wanted`, from 1, whose product with `others` is a multiple of `divisor`."""
    if others < 1 or divisor < 1:
        return None
    fitting = tuple(each for each in range(1, max(wanted, divisor) * 2 + 1) if each * others % divisor == 0)
    return nearest(wanted, fitting)[0] if fitting else None


def mended(batch: Batch) -> tuple[str, ...]:
    """List lines each of which alone makes the training batch hold whole groups."""
    lines = [f"num_generations={each}" for each in nearest(batch.generations, divisors(batch.completions), 2)]
    if batch.given is not None:
        step = batch.processes * batch.per_device
        size = factor_for(max(1, batch.given // max(1, step)), step, batch.generations)
        return (*lines, *((f"generation_batch_size={size * step}",) if size else ()))
    per_device = factor_for(batch.per_device, batch.processes * batch.steps, batch.generations)
    if per_device:
        lines.append(f"per_device_train_batch_size={per_device}")
    if batch.rule >= "C":
        steps = factor_for(batch.steps, batch.processes * batch.per_device, batch.generations)
        lines += [f"{batch.steps_name}={steps}"] if steps else []
    return tuple(lines)


def layout(batch: Batch, dataset: Dataset | None) -> tuple[Observed, ...]:
    """Say what the nearest fitting `num_generations` gives: prompts per generation, generations per epoch."""
    fitting = nearest(batch.generations, divisors(batch.completions))
    if not fitting:
        return ()
    prompts = batch.completions // fitting[0]
    text = f"with num_generations={fitting[0]}: {prompts} prompts x {fitting[0]} completions per generation"
    if dataset is not None and dataset.rows:
        text += f", {dataset.rows // prompts} generations per epoch of {dataset.rows} rows"
    return (Observed.quoted("batch rule", text),)
