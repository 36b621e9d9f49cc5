"""The witness in OpenRLHF's driver, whose experiences hold the log probabilities of both sides.

Read in these releases; what another one lacks is said to be unseen:
https://github.com/OpenRLHF/OpenRLHF/blob/v0.8.11/openrlhf/trainer/ppo_utils/experience_maker.py (from there on an
experience has `rollout_log_probs`; the actor's own `action_log_probs` are computed before the update)
https://github.com/OpenRLHF/OpenRLHF/blob/v0.9.10/openrlhf/trainer/ppo_trainer.py
https://github.com/OpenRLHF/OpenRLHF/blob/v0.11.0/openrlhf/trainer/ppo_trainer.py (settings in groups)
The engine is asked for its values where its importance correction is on, `--enable_vllm_is_correction`, later
`--algo.advantage.is_correction_enable`:
https://github.com/OpenRLHF/OpenRLHF/blob/v0.9.10/openrlhf/trainer/ppo_utils/samples_generator.py

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import atexit
import functools
from typing import Any, Callable, Optional, Sequence

from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.batches import MOST_TOKENS, Rollouts, Sampling, spread
from doctor.monitors.witness.drivers import DriverWatch

#: of an experience: the engine's log probabilities, the trainer's before the update, and 1 where the policy sampled
SAMPLED, TRAINED, MASK = "rollout_log_probs", "action_log_probs", "action_mask"

#: attributes that this module puts on objects of OpenRLHF's
_WATCH, _MADE, _WRITTEN = "_doctor_watch", "_doctor_made", "_doctor_written"

_NO_VALUES = (
    "experiences lack the engine's log probabilities; OpenRLHF 0.8.11 and newer keep them with "
    "`--enable_vllm_is_correction` (0.11: `--algo.advantage.is_correction_enable`), which also corrects the loss"
)
_ASYNCHRONOUS = "OpenRLHF's asynchronous trainer samples with earlier weights"


def makers(module: Any) -> None:
    """Keep what the driver makes of its samples until it is trained on."""
    owner: Any = getattr(module, "RemoteExperienceMaker", None)
    original: Any = getattr(owner, "make_experience_batch", None)
    if original is None:
        return

    @functools.wraps(original)
    def make_experience_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        setattr(self, _MADE, made)
        return made

    owner.make_experience_batch = make_experience_batch


def drivers(module: Any) -> None:
    """Stand around each update of the driver, and around what saves behind it."""
    owner: Any = getattr(module, "BasePPOTrainer", None)
    if owner is None or not hasattr(owner, "ppo_train") or not hasattr(owner, "save_logs_and_checkpoints"):
        return
    train, save = owner.ppo_train, owner.save_logs_and_checkpoints
    late = hasattr(owner, "train_step")  # since then `ppo_train` is given the updates made, before it the one to come

    @functools.wraps(train)
    def ppo_train(self: Any, steps: Any, *args: Any, **kwargs: Any) -> Any:
        _look(self, int(steps) if late else int(steps) - 1)
        return train(self, steps, *args, **kwargs)

    @functools.wraps(save)
    def save_logs_and_checkpoints(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _saved(self, save, args, kwargs)

    owner.ppo_train, owner.save_logs_and_checkpoints = ppo_train, save_logs_and_checkpoints


@shielded
def _look(trainer: Any, step: int) -> None:
    """Look at what is about to be trained on; the first time, begin to watch."""
    watch = getattr(trainer, _WATCH, None)
    if watch is None:
        watch = DriverWatch(_sampling(trainer.args), lambda: getattr(trainer, _WRITTEN, False))
        setattr(trainer, _WATCH, watch)
        atexit.register(watch.close)
        if not watch.guard.options.witness:
            watch.witness.off = "switched off"
        elif "async" in type(trainer).__module__:
            watch.witness.switch_off(_ASYNCHRONOUS)
        else:
            watch.attached("OpenRLHF's driver")
    maker = getattr(trainer, "experience_maker", None)
    made = getattr(maker, _MADE, None)
    if made is not None:
        setattr(maker, _MADE, None)
    watch.batch(step, lambda: _rollouts(made, watch))


def _saved(trainer: Any, save: Any, args: Any, kwargs: Any) -> Any:
    """Save as OpenRLHF does, in this step too where the policy asks for it; then stop, where it asks for that.

    Raises:
        GuardStop: the policy ends the run.

    """
    watch: Optional[DriverWatch] = getattr(trainer, _WATCH, None)
    if watch is None or watch.guard.pending is None:
        return save(trainer, *args, **kwargs)
    options = getattr(trainer.args, "ckpt", trainer.args)
    every = getattr(options, "save_steps", None)
    now = watch.guard.pending is Policy.CHECKPOINT and every is not None
    undo = _notes_saves(trainer)
    if now:
        options.save_steps = 1
    try:
        made = save(trainer, *args, **kwargs)
    finally:
        if now:
            options.save_steps = every
        undo()
    watch.updated((watch.guard.step or 0) + 1)
    return made


def _notes_saves(trainer: Any) -> Callable[[], None]:
    """Note on the trainer whether its workers are told to save, which OpenRLHF then waits for; gives what ends that."""
    setattr(trainer, _WRITTEN, False)
    group = getattr(trainer, "actor_model_group", None)
    if not callable(getattr(group, "async_run_method", None)):
        return _nothing

    def around(original: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            if "save_checkpoint" in (*args[:1], kwargs.get("method_name")):
                setattr(trainer, _WRITTEN, True)
            return original(*args, **kwargs)

        return run

    return wrap(group, "async_run_method", around)


def _nothing() -> None:
    """Nothing was put on."""


def _rollouts(made: Optional[Sequence[Any]], watch: DriverWatch) -> Optional[Rollouts]:
    """Rows of the experiences, of which each holds one or more."""
    whole = [each for each in made or () if getattr(each, SAMPLED, None) is not None]
    if not whole or any(getattr(each, TRAINED, None) is None for each in whole):
        watch.witness.switch_off(_NO_VALUES)
        return None
    places = [(each, row) for each in whole for row in range(len(getattr(each, TRAINED)))]
    chosen = [places[at] for at in spread(len(places))]
    rows = [_row(each, row) for each, row in chosen]
    return Rollouts([each[0] for each in rows], [each[1] for each in rows], [each[2] for each in rows])


def _row(experience: Any, row: int) -> tuple[list[float], ...]:
    """The three columns of one row, from the first sampled token on: the prompt stands before it."""
    columns = [getattr(experience, name)[row].float().tolist() for name in (TRAINED, SAMPLED, MASK)]
    begin = columns[2].index(1.0) if 1.0 in columns[2] else 0
    end = min(begin + MOST_TOKENS, *map(len, columns))
    return tuple(column[begin:end] for column in columns)


def _sampling(args: Any) -> Sampling:
    """How the engine samples, by the program's options: flat ones, or in groups."""
    rollout = getattr(args, "rollout", None)
    owner = args if rollout is None else rollout
    top_p = getattr(owner, "top_p", None)
    return Sampling(getattr(owner, "temperature", None), None if top_p is None else top_p < 1.0)
