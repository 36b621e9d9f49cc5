"""The witness in veRL's driver, whose batches come back from the workers with the log probabilities of both sides.

Read in these releases; what another one lacks is said to be unseen:
https://github.com/verl-project/verl/blob/v0.4.1/verl/trainer/ppo/ray_trainer.py (0.4 to 0.6: `fit` hands each batch to
`actor_rollout_wg.update_actor`)
https://github.com/verl-project/verl/blob/v0.7.1/verl/trainer/ppo/ray_trainer.py (0.7 to 0.9: to `_update_actor`; rows
record the engine's version as `min_global_steps` and `max_global_steps`)
https://github.com/verl-project/verl/blob/v0.9.0/verl/trainer/ppo/v1/trainer_base.py (from 0.9, `trainer.use_v1`: the
batch lies in the TransferQueue, and `step` gives its keys and the tags of its rows)
The engine's values come along where `rollout.calculate_log_probs` is set; the trainer's are computed before the update:
https://github.com/verl-project/verl/blob/v0.9.0/verl/trainer/config/rollout/rollout.yaml

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Optional

from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness import verl_engines
from doctor.monitors.witness.batches import MOST_TOKENS, Rollouts, Sampling, spread
from doctor.monitors.witness.drivers import DriverWatch
from doctor.oracles.logps import coarser

#: of a batch: the engine's log probabilities, the trainer's before the update, and 1 where the policy sampled
SAMPLED, TRAINED, MASK = "rollout_log_probs", "old_log_probs", "response_mask"

#: tags of a row: steps of the weights that its first and its last token were sampled with
FIRST, LAST = "min_global_steps", "max_global_steps"

_NO_VALUES = (
    "batches lack the engine's log probabilities; set `actor_rollout_ref.rollout.calculate_log_probs=True`, which "
    "changes no sample"
)
_BYPASSED = "`rollout_correction.bypass_mode` takes the engine's log probabilities for the trainer's"
_OWN_LOOP = "`{}` of veRL has a loop of its own, whose samples may be of earlier weights"
_ASYNCHRONOUS = "veRL's trainer mode `{}` samples with earlier weights"
_NO_API = "this release of veRL has no `{}`"

Begins = Callable[[Any, DriverWatch], Callable[[], None]]


def drivers(module: Any) -> None:
    """Stand around the loop of the driver that veRL has had from the start."""
    owner: Any = getattr(module, "RayPPOTrainer", None)
    if owner is not None:
        _around_fit(owner, _begin)
        _tell_own_loops(owner)


def drivers_v1(module: Any) -> None:
    """Stand around the loop of the driver whose batches lie in the TransferQueue."""
    owner: Any = getattr(module, "PPOTrainer", None)
    if owner is not None:
        _around_fit(owner, _begin_v1)


def _around_fit(owner: Any, begin: Begins) -> None:
    original = owner.fit

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        undo = _watched(self, begin)
        try:
            return original(self, *args, **kwargs)
        finally:
            _ended(undo)

    owner.fit = fit


@shielded
def _ended(undo: Optional[Callable[[], None]]) -> None:
    if undo is not None:
        undo()


@shielded
def _watched(trainer: Any, begin: Begins) -> Optional[Callable[[], None]]:
    """Watch a trainer whose loop begins; gives what ends that."""
    watch = DriverWatch(_sampling(trainer.config.actor_rollout_ref), _saver(trainer))
    if not watch.guard.options.witness:
        watch.guard.close()
        return None
    ends = ExitStack()
    ends.callback(watch.close)
    ends.callback(begin(trainer, watch))
    watch.attached("veRL's driver")
    return ends.close


def _saver(trainer: Any) -> Optional[Callable[[], Optional[bool]]]:
    """What saves the step that is made, with veRL's own function; None where it has none.

    It leaves the number of the step in a file once all is written, and not where workers go on writing (`async_save`):
    https://github.com/verl-project/verl/blob/v0.9.0/verl/trainer/ppo/ray_trainer.py
    """
    original = getattr(trainer, "_save_checkpoint", None)
    if not callable(original):
        return None

    def save() -> Optional[bool]:
        original()
        with suppress(Exception):  # unreadable, or a trainer with other names
            written = Path(trainer.config.trainer.default_local_dir) / "latest_checkpointed_iteration.txt"
            return True if written.read_text("utf-8").strip() == str(trainer.global_steps) else None
        return None

    return save


def _tell_own_loops(owner: Any) -> None:
    """Say of each trainer that is derived from veRL's, and does not call its loop, that nothing is seen."""
    original, loop = owner.__init__, owner.fit

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _tell_own_loop(self, loop)

    owner.__init__ = init


@shielded
def _tell_own_loop(trainer: Any, loop: Any) -> None:
    own = type(trainer).fit
    if own is not loop and "super" not in getattr(getattr(own, "__code__", None), "co_names", ("super",)):
        watch = DriverWatch(Sampling(), None)
        if watch.guard.options.witness:
            watch.witness.switch_off(_OWN_LOOP.format(type(trainer).__name__))
        watch.close()


def _sampling(config: Any) -> Sampling:
    """How the engine samples, and in which precision both sides compute.

    Args:
        config: `actor_rollout_ref` of veRL's configuration.

    """
    rollout, actor = config.rollout, config.actor
    temperature, top_p, top_k = (rollout.get(name) for name in ("temperature", "top_p", "top_k"))
    cut = (top_p is not None and top_p < 1.0) or (top_k is not None and top_k > 0)
    dtype = "float8" if rollout.get("quantization") else rollout.get("dtype")
    engine = (actor.get("fsdp_config") or {}).get("dtype")
    return Sampling(temperature, cut, coarser(dtype, engine))


def _unseen(config: Any) -> Optional[str]:
    """Why batches of this configuration tell nothing; None where they do."""
    correction = config.algorithm.get("rollout_correction") or {}
    if correction.get("bypass_mode"):
        return _BYPASSED
    return None if config.actor_rollout_ref.rollout.get("calculate_log_probs") else _NO_VALUES


def _begin(trainer: Any, watch: DriverWatch) -> Callable[[], None]:
    """Hook on the update of the actor: its batch is complete, and no worker has anything to do before and behind it."""
    reason = _unseen(trainer.config)
    owner, name = trainer, "_update_actor"
    if not callable(getattr(owner, name, None)):
        owner, name = getattr(trainer, "actor_rollout_wg", None), "update_actor"
    known = callable(getattr(owner, name, None))
    if not known:
        reason = _NO_API.format(name)
    if reason is not None:
        watch.witness.switch_off(reason)
    if not known:
        return _nothing

    def around(original: Any) -> Any:
        def update(batch: Any, *args: Any, **kwargs: Any) -> Any:
            step = _given(trainer, batch, watch)
            result = original(batch, *args, **kwargs)
            _updated(step, result, watch)
            return result

        return update

    return _both(wrap(owner, name, around), verl_engines.ask(trainer, watch))


@shielded
def _given(trainer: Any, batch: Any, watch: DriverWatch) -> int:
    """Look at a batch that is about to be trained on; gives its step."""
    step = int(trainer.global_steps)
    watch.batch(step - 1, lambda: _rollouts(batch, watch))
    return step


@shielded
def _updated(step: Optional[int], result: Any, watch: DriverWatch) -> None:
    """Take in what came of an update; None for a step that could not be told."""
    if step is not None:
        watch.learnt(step, (getattr(result, "meta_info", None) or {}).get("metrics"))
        watch.updated(step)


def _rollouts(batch: Any, watch: DriverWatch) -> Optional[Rollouts]:
    """Rows of a batch in the driver's own memory."""
    columns = batch.batch
    if SAMPLED not in columns or TRAINED not in columns:
        watch.witness.switch_off(_NO_VALUES)
        return None
    chosen = spread(len(columns[TRAINED]))
    trained, sampled, mask = (columns[name][chosen, :MOST_TOKENS] for name in (TRAINED, SAMPLED, MASK))
    told = getattr(batch, "non_tensor_batch", None) or {}
    pairs = [(told[FIRST][at], told[LAST][at]) for at in chosen] if FIRST in told and LAST in told else []
    return Rollouts(trained.float(), sampled.float(), mask.float(), [_version(*each) for each in pairs])


def _version(first: Any, last: Any) -> Optional[int]:
    """Step of the weights that made a row; None where there was none, or where it was more than one."""
    return int(first) if first is not None and first == last and int(first) >= 0 else None


def _begin_v1(trainer: Any, watch: DriverWatch) -> Callable[[], None]:
    """Hook on the step of the driver, whose batch stays in the queue until its metrics are made."""
    reason, mode = _unseen(trainer.config), str(trainer.config.trainer.v1.get("trainer_mode"))
    if mode != "sync":
        reason = _ASYNCHRONOUS.format(mode)
    known = mode == "sync" and callable(getattr(trainer, "step", None))
    if not callable(getattr(trainer, "step", None)):
        reason = _NO_API.format("step")
    if reason is not None:
        watch.witness.switch_off(reason)
    if not known:
        return _nothing

    def around(original: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            batch = original(*args, **kwargs)
            _stepped(trainer, batch, next(iter(args), kwargs.get("metrics")), watch)
            return batch

        return step

    return _both(wrap(trainer, "step", around), verl_engines.ask(trainer, watch))


@shielded
def _stepped(trainer: Any, batch: Any, metrics: Any, watch: DriverWatch) -> None:
    """Take in a step that was made."""
    made = int(trainer.global_steps)
    watch.batch(made - 1, lambda: _queued(batch, watch))
    watch.learnt(made, metrics)
    watch.updated(made)


def _both(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    """Undoes both, the later one first."""
    ends = ExitStack()
    ends.callback(one)
    ends.callback(other)
    return ends.close


def _queued(batch: Any, watch: DriverWatch) -> Optional[Rollouts]:
    """Rows of a batch in the queue, of which only these, and of them only what is compared, are fetched."""
    queue: Any = sys.modules["transfer_queue"]
    real = [at for at, tag in enumerate(batch.tags) if not tag.get("is_padding", False)]
    chosen = [real[at] for at in spread(len(real))]
    told = queue.kv_batch_get(
        keys=[batch.keys[at] for at in chosen], partition_id=batch.partition_id, select_fields=[TRAINED, SAMPLED, MASK]
    )
    if SAMPLED not in told or TRAINED not in told:
        watch.witness.switch_off(_NO_VALUES)
        return None
    trained, sampled, mask = (_rows(told[name]) for name in (TRAINED, SAMPLED, MASK))
    versions = [_version(batch.tags[at].get(FIRST), batch.tags[at].get(LAST)) for at in chosen]
    return Rollouts(trained, sampled, mask, versions)


def _rows(column: Any) -> list[list[float]]:
    """A column of the queue as lists: its rows are as long as their answers."""
    return [[float(each) for each in row[:MOST_TOKENS].tolist()] for row in column.unbind()]


def _nothing() -> None:
    """Nothing was put on."""
