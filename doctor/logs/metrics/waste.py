"""What a run spent on rollouts that could teach nothing: GPU-hours, rollouts and, with a price, money.

Two things are counted, each only where the metrics show it: groups whose rewards are all equal, which have no advantage
and so no gradient; and what came after a plateau of the reward began. Where time, GPUs or rollouts of a step are not
known, that figure is left out: none is made up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.base.record import record
from doctor.catalogue.courses import Course
from doctor.catalogue.finding import Finding

#: share of the rollouts from which on it is worth a word
LEAST = 0.1
_SHARE = "frac_reward_zero_std"
_PLATEAU = "RLX008"
_HOUR = 3600.0


@record
class Waste:
    """What was spent for nothing, and on what.

    Args:
        of: "groups" without deviation, or "plateau".
        share: of all rollouts of the run, 0 to 1.
        gpu_hours, rollouts, money: None where the logs and settings do not tell it, or no price was given.

    """

    of: str
    share: float
    gpu_hours: float | None = None
    rollouts: float | None = None
    money: float | None = None

    @property
    def clause(self) -> str:
        """One clause for the summary."""
        what = "groups without deviation" if self.of == "groups" else "steps after the plateau began"
        amounts = [
            f"{self.gpu_hours:,.1f} GPU-hours" if self.gpu_hours is not None else "",
            f"{self.rollouts:,.0f} rollouts" if self.rollouts is not None else "",
            f"{self.money:,.2f} in money" if self.money is not None else "",
        ]
        told = ", ".join(filter(None, amounts))
        return f"spent on {what}: {100 * self.share:.0f} % of the rollouts" + (f" (about {told})" if told else "")

    def as_data(self) -> dict[str, Any]:
        """For programs; what is not known is null."""
        return {
            "of": self.of, "share": round(self.share, 4), "gpu_hours": _rounded(self.gpu_hours),
            "rollouts": _rounded(self.rollouts), "money": _rounded(self.money),
        }  # fmt: skip


def wasted(
    courses: Mapping[str, Course], findings: Iterable[Finding], settings: Mapping[str, object], gpus: int | None,
    price: float | None = None,
) -> tuple[Waste, ...]:  # fmt: skip
    """What the metrics of a run show to have been spent for nothing.

    Args:
        courses: its metrics.
        findings: what rules found, the plateau among it.
        settings: of the run, by their own names.
        gpus: ranks of the run, each taken for one GPU; None where nothing tells.
        price: money that one GPU costs in an hour.

    """
    steps = max((each.count for each in courses.values()), default=0)
    shares: list[tuple[str, float]] = []
    share = courses.get(_SHARE)
    if share is not None and math.isfinite(share.mean):
        shares.append(("groups", min(1.0, share.mean)))
    counts = (each.values.get("count") for each in findings if each.problem.id == _PLATEAU and "share" in each.values)
    shares += [("plateau", min(1.0, int(count) / max(steps, 1))) for count in counts if count]
    seconds, batch = courses.get("step_time"), rollouts_of_step(settings, gpus)
    hours = seconds.mean * steps * gpus / _HOUR if seconds is not None and gpus and seconds.mean > 0 else None
    return tuple(
        Waste(
            of, part, hours * part if hours is not None else None, batch * steps * part if batch is not None else None,
            hours * part * price if hours is not None and price is not None else None,
        )
        for of, part in shares
        if part >= LEAST
    )  # fmt: skip


def rollouts_of_step(settings: Mapping[str, object], ranks: int | None) -> float | None:
    """How many completions a step generates, as TRL's and veRL's settings have it; None where they do not tell.

    TRL: https://huggingface.co/docs/trl/grpo_trainer (`generation_batch_size`, else the effective batch);
    veRL: https://verl.readthedocs.io/en/latest/examples/config.html (`data.train_batch_size` prompts, `rollout.n` each)
    """
    number = {
        name: float(value)
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    answers = number.get("actor_rollout_ref.rollout.n", number.get("rollout.n"))
    prompts = number.get("data.train_batch_size", number.get("data.gen_batch_size"))
    if answers and prompts:
        return answers * prompts
    if whole := number.get("generation_batch_size"):
        return whole
    each = number.get("per_device_train_batch_size")
    if not each or not ranks:
        return None
    accumulated = number.get("gradient_accumulation_steps")
    return each * ranks * accumulated if accumulated else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
