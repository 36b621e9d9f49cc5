"""Size and number of the checkpoints that a run will write."""

from __future__ import annotations

from doctor.catalogue.settings import truth, whole
from doctor.catalogue.shared.memory_bounds import adam
from doctor.catalogue.shared.proofs import effective
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World


def checkpoint_bytes(parameters: int, training: Training, packages: Packages | None, world: World | None) -> int:
    """Least size of one checkpoint of full training: weights in half precision, and the optimizer's states.

    DeepSpeed saves fp32 weights and two moments (12 bytes a parameter), torch's AdamW two moments of the weights' type.
    """
    only_model = training.get("save_only_model")
    if only_model is not None and (not only_model.known or truth(only_model.value)):
        return parameters * 2
    if not adam(training, packages):
        return parameters * 2
    deepspeed = world is not None and world.backend == "deepspeed" and world.zero_stage in {1, 2, 3}
    return parameters * (2 + (12 if deepspeed else 4))


def checkpoints_kept(training: Training, packages: Packages | None) -> int | None:
    """How many checkpoints lie on the disk at once at the least; 0 when none is saved, None when it cannot be told."""
    strategy = effective(training, packages, "save_strategy")
    if strategy is not None and str(strategy.value) in {"no", "IntervalStrategy.NO", "SaveStrategy.NO"}:
        return 0
    if strategy is None or str(strategy.value) != "steps":
        return None
    limit = training.get("save_total_limit")
    if limit is not None and not limit.known:
        return None
    every, steps = effective(training, packages, "save_steps"), training.get("max_steps")
    total = _written(every.value if every else None, steps.value if steps and steps.known else None)
    kept = whole(limit.value) if limit is not None else None
    if kept is not None and kept > 0:
        return kept if total is None else min(total, kept)  # the old one goes after the new one is written
    return total


def _written(every: object, steps: object) -> int | None:
    count, last = whole(every), whole(steps)
    if count is None or last is None or count < 1 or last < 1:
        return None
    return last // count + (last % count > 0)  # the last step is saved too
