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
import sys
import weakref
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, Optional, Sequence

from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.batches import MOST_TOKENS, Rollouts, Sampling, spread
from doctor.monitors.witness.drivers import DriverWatch
from doctor.monitors.witness.questions import EngineWitness, RayEngine

#: of an experience: the engine's log probabilities, the trainer's before the update, and 1 where the policy sampled
SAMPLED, TRAINED, MASK = "rollout_log_probs", "action_log_probs", "action_mask"

#: attributes that this module puts on objects of OpenRLHF's
_WATCH, _MADE, _WRITTEN = "_doctor_watch", "_doctor_made", "_doctor_written"

_NO_VALUES = (
    "experiences lack the engine's log probabilities; OpenRLHF 0.8.11 and newer keep them with "
    "`--enable_vllm_is_correction` (0.11: `--algo.advantage.is_correction_enable`), which also corrects the loss"
)
#: `dtype` with which all releases make their engines
_PRECISION = "bfloat16"

#: trainers that are watched, to which a generator of samples belongs
_TRAINERS: weakref.WeakSet[Any] = weakref.WeakSet()

_ASYNCHRONOUS = "OpenRLHF's asynchronous trainer samples with earlier weights"


def makers(module: Any) -> None:
    """Keep what the driver makes of its samples until it is trained on; until 0.9.9 the generator stands there, too."""
    generators(module)
    owner: Any = getattr(module, "RemoteExperienceMaker", None)
    original = getattr(owner, "make_experience_batch", None)
    if original is None:
        return

    @functools.wraps(original)
    def make_experience_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        _keep(self, made)
        return made

    owner.make_experience_batch = make_experience_batch


@shielded
def _keep(maker: Any, made: Any) -> None:
    setattr(maker, _MADE, made)


def drivers(module: Any) -> None:
    """Stand around each update of the driver, and around what saves behind it."""
    owner: Any = getattr(module, "BasePPOTrainer", None)
    if owner is None or not hasattr(owner, "ppo_train") or not hasattr(owner, "save_logs_and_checkpoints"):
        return
    _around_init(owner)
    _around_train(owner, late=hasattr(owner, "train_step"))
    _around_save(owner)
    for name in ("broadcast_to_vllm", "_broadcast_to_vllm"):
        if callable(getattr(owner, name, None)):
            _around_push(owner, name)


def _around_init(owner: Any) -> None:
    original = owner.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _watched(self)

    owner.__init__ = init


def _around_train(owner: Any, *, late: bool) -> None:
    """Look at each update. `late`: it is given the updates made, as since `train_step`; before that the one to come."""
    original = owner.ppo_train

    @functools.wraps(original)
    def ppo_train(self: Any, steps: Any, *args: Any, **kwargs: Any) -> Any:
        made = _made(steps, late)
        _look(self, made)
        told = original(self, steps, *args, **kwargs)
        _learnt(self, made, told)
        return told

    owner.ppo_train = ppo_train


def _around_save(owner: Any) -> None:
    original = owner.save_logs_and_checkpoints

    @functools.wraps(original)
    def save_logs_and_checkpoints(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _saving(self):
            return original(self, *args, **kwargs)

    owner.save_logs_and_checkpoints = save_logs_and_checkpoints


def _around_push(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def push(self: Any, *args: Any, **kwargs: Any) -> Any:
        questions = _questions(self)
        if questions is not None:
            questions.pushing()
        result = original(self, *args, **kwargs)
        if questions is not None:
            questions.pushed()
        return result

    setattr(owner, name, push)


@shielded
def _questions(trainer: Any) -> Optional[EngineWitness]:
    watch: Optional[DriverWatch] = getattr(trainer, _WATCH, None)
    return None if watch is None else watch.questions


def generators(module: Any) -> None:
    """Ask an engine before the first prompt of a batch is sent: all are awake then and have nothing to do."""
    owner: Any = getattr(module, "SamplesGenerator", None)
    original = getattr(owner, "_generate_vllm", None)
    if original is None:
        return

    @functools.wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        _ask(self)
        return original(self, *args, **kwargs)

    owner._generate_vllm = generate  # noqa: SLF001 - the method that all releases share


@shielded
def _ask(generator: Any) -> None:
    trainer = next((each for each in list(_TRAINERS) if getattr(each, "samples_generator", None) is generator), None)
    questions = _questions(trainer)
    if questions is not None:
        questions.idle()


@shielded
def _watched(trainer: Any) -> None:
    """Watch a trainer that was made."""
    watch = DriverWatch(_sampling(trainer.args), lambda: getattr(trainer, _WRITTEN, False))
    setattr(trainer, _WATCH, watch)
    atexit.register(watch.close)
    if not watch.guard.options.witness:
        watch.witness.off = "switched off"
    elif "async" in type(trainer).__module__:
        watch.witness.switch_off(_ASYNCHRONOUS)
    else:
        watch.attached("OpenRLHF's driver")
        _TRAINERS.add(trainer)
        watch.asks(lambda: _engine(trainer), getattr(trainer, "tokenizer", None))


def _engine(trainer: Any) -> Engine:
    actors = getattr(trainer, "vllm_engines", None)
    if not actors:
        raise CannotAsk("the driver has no engine")
    return RayEngine(actors[0], sys.modules, _PRECISION)


@shielded
def _made(steps: Any, late: bool) -> int:
    """Updates made before one that is given this number."""
    return int(steps) if late else int(steps) - 1


@shielded
def _learnt(trainer: Any, made: Optional[int], status: Any) -> None:
    watch: Optional[DriverWatch] = getattr(trainer, _WATCH, None)
    if watch is not None and made is not None:
        watch.learnt(made + 1, status)


@shielded
def _look(trainer: Any, step: Optional[int]) -> None:
    """Look at what is about to be trained on."""
    watch: Optional[DriverWatch] = getattr(trainer, _WATCH, None)
    if watch is None or step is None:
        return
    maker = getattr(trainer, "experience_maker", None)
    made = getattr(maker, _MADE, None)
    if made is not None:
        setattr(maker, _MADE, None)
    watch.batch(step, lambda: _rollouts(made, watch))


@contextmanager
def _saving(trainer: Any) -> Iterator[None]:
    """Let OpenRLHF save in this step too where the policy asks for it; then stop, where it asks for that.

    Raises:
        GuardStop: the policy ends the run.

    """
    watch = _pending(trainer)
    if watch is None:
        yield
        return
    undo = _saves_now(trainer, watch)
    try:
        yield
    finally:
        if undo is not None:
            undo()
    watch.updated((watch.guard.step or 0) + 1)


@shielded
def _pending(trainer: Any) -> Optional[DriverWatch]:
    """The watch of a trainer on whose run something is to be done."""
    watch: Optional[DriverWatch] = getattr(trainer, _WATCH, None)
    return None if watch is None or watch.guard.pending is None else watch


@shielded
def _saves_now(trainer: Any, watch: DriverWatch) -> Callable[[], None]:
    """Have the trainer save in this step where the policy asks for that, and note it; gives what ends both."""
    ends = ExitStack()
    ends.callback(_notes_saves(trainer))
    options = getattr(trainer.args, "ckpt", trainer.args)
    every = getattr(options, "save_steps", None)
    if watch.guard.pending is Policy.CHECKPOINT and every is not None:
        ends.callback(setattr, options, "save_steps", every)
        options.save_steps = 1
    return ends.close


def _notes_saves(trainer: Any) -> Callable[[], None]:
    """Note on the trainer whether its workers are told to save, which OpenRLHF then waits for; gives what ends that."""
    setattr(trainer, _WRITTEN, False)
    group = getattr(trainer, "actor_model_group", None)
    if not callable(getattr(group, "async_run_method", None)):
        return _nothing

    def around(original: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            _noted(trainer, args[0] if args else kwargs.get("method_name"))
            return original(*args, **kwargs)

        return run

    return wrap(group, "async_run_method", around)


@shielded
def _noted(trainer: Any, method: Any) -> None:
    if method == "save_checkpoint":
        setattr(trainer, _WRITTEN, True)


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
