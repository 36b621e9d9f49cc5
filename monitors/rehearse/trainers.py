"""A transformers Trainer in a rehearsal: a few steps on its longest rows, one save, one evaluation, its phases marked.

The steps end by a callback, so that the schedule of the learning rate is the run's own. What is put around methods is
put on the instance, when the training begins: by then every subclass has made what it has.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any, Callable, Optional

from doctor.monitors.rehearse import conversations, journal, memory, moved, rewards, rows, updates
from doctor.monitors.rehearse.checkpoints import checkpoints, of_the_user
from doctor.monitors.rehearse.loops import Current, RehearsalOver
from doctor.monitors.rehearse.relations import aside, sampling
from doctor.monitors.rehearse.settings import settings

#: methods of a trainer -> phase
_PHASES = {
    "compute_loss": "loss", "log": "logging", "evaluate": "evaluation", "_save_checkpoint": "save",
    "_load_from_checkpoint": "resume", "_load_optimizer_and_scheduler": "resume", "_calculate_rewards": "reward",
    "_move_model_to_vllm": "weight_update", "_generate_single_turn": "generation",
}  # fmt: skip
#: callbacks that write to a tracker; those that draw or control stay, and W&B's, whose run is one that is disabled
_TRACKERS = ("MLflowCallback", "CometCallback", "NeptuneCallback", "SwanLabCallback",
             "ClearMLCallback", "DVCLiveCallback", "AzureMLCallback", "DagsHubCallback", "FlyteCallback",
             "TrackioCallback", "CodeCarbonCallback", "MLFlowCallback", "AimCallback")  # fmt: skip


def attach(module: Any) -> None:
    """Stand around the making and the training of every trainer."""
    owner = module.Trainer
    owner.__init__, owner.train = _making(owner.__init__), _training(owner.train)
    push = getattr(owner, "push_to_hub", None)
    if push is not None:
        owner.push_to_hub = lambda *_, **__: journal.left_out("hub", "uploads")


def _making(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _without_trackers(self)

    return init


def _training(original: Any) -> Any:
    @functools.wraps(original)
    def train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        resume, asked = resume_from_checkpoint, _asked(self, resume_from_checkpoint)
        if asked is not None:
            (resume,) = asked
        _prepare(self)
        Current.training = True
        try:
            return original(self, resume, *args, **kwargs)
        finally:
            Current.training = False
            _ended(self)
            if not settings().tiny:
                _over()

    return train


@journal.shielded
def _without_trackers(trainer: Any) -> None:
    """Take away the callbacks that write to trackers, once they have been made: what they need is checked then."""
    handler = trainer.callback_handler
    for each in list(handler.callbacks):
        if type(each).__name__ in _TRACKERS:
            handler.callbacks.remove(each)
            journal.left_out("trackers", "trackers", callback=type(each).__name__)


@journal.shielded
def _prepare(trainer: Any) -> None:
    again = Current.trainer is trainer
    Current.trainer = trainer
    Current.trainings += 1
    journal.write(
        "training", trainer=type(trainer).__name__, output=str(trainer.args.output_dir),
        world=getattr(trainer.args, "world_size", 1), steps=settings().steps, number=Current.trainings,
        longest=getattr(trainer.args, "max_steps", None), epochs=getattr(trainer.args, "num_train_epochs", None),
    )  # fmt: skip
    if again:
        return
    for name, phase in _PHASES.items():
        _marked(trainer, name, phase)
    accelerator = getattr(trainer, "accelerator", None)
    if accelerator is not None:
        _marked(accelerator, "backward", "backward")
    engine = getattr(trainer, "vllm_generation", None)
    if engine is not None:
        _marked(engine, "sync_weights", "weight_update")
    elif hasattr(trainer, "reward_funcs") and not (
        getattr(trainer, "use_vllm", False) or getattr(trainer.args, "_doctor_engine", False)
    ):
        journal.left_out("weight_update", "no_vllm")
    aside.watch(trainer)
    sampling.look(trainer)
    rows.longest_first(trainer)
    rewards.watch(trainer)
    if not settings().resume:
        conversations.look(trainer)
    callbacks: Any = sys.modules["transformers.trainer_callback"]
    trainer.add_callback(_callback(callbacks.TrainerCallback)(trainer))


def _marked(owner: Any, name: str, phase: str) -> None:
    original: Optional[Callable[..., Any]] = getattr(owner, name, None)
    if not callable(original):
        return

    @functools.wraps(original)
    def marked(*args: Any, **kwargs: Any) -> Any:
        # up to Transformers 4 a training that resumes nothing calls these with None for its checkpoint
        if phase == "resume" and all(each is None for each in (*args, *kwargs.values())):
            return original(*args, **kwargs)
        with journal.phase(phase):
            return original(*args, **kwargs)

    setattr(owner, name, marked)


def _over() -> None:
    """End the program behind a training at real scale, unless it fails: what it saves would be of the real size."""
    if sys.exc_info()[0] is None:
        journal.left_out("save", "real_scale")
        raise RehearsalOver(0)


@journal.shielded
def _ended(trainer: Any) -> None:
    state = getattr(trainer, "state", None)
    step = getattr(state, "global_step", None)
    if not settings().tiny:
        memory.tell()
    journal.write("trained", step=step, saved=[each.name for each in checkpoints(Path(trainer.args.output_dir))])


@journal.shielded
def _asked(trainer: Any, asked: Any) -> tuple[Any]:
    return (_resume(trainer, asked),)


def _resume(trainer: Any, asked: Any) -> Any:
    """What it is resumed from: in the second pass what the first one saved, else nothing of the real model's size."""
    output = Path(trainer.args.output_dir)
    if settings().resume:
        saved = checkpoints(output) or _of_first_pass()
        if saved:
            journal.write("resumes", checkpoint=saved[-1].name)
            return str(saved[-1])
        journal.left_out("resume", "nothing_saved")
        return None
    if not asked:
        return asked
    return of_the_user(trainer, asked)


def _of_first_pass() -> list[Path]:
    """What the first pass saved for the same training, where its folder is named anew at each start."""
    made = [each for each in journal.entries(settings().root, journal.FIRST) if each["kind"] == "training"]
    before = [each["output"] for each in made if each.get("number") == Current.trainings + 1 and each.get("output")]
    return checkpoints(Path(before[0])) if before else []


class _Steps:
    """What a callback of a trainer does in a rehearsal: it ends the training after a few steps."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._first: Optional[int] = None
        self._stepping: Any = None

    @journal.shielded
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._first = state.global_step
        journal.write("begun", step=state.global_step, of=state.max_steps)
        if state.global_step and settings().resume:
            journal.reached("resume")
        moved.remember(self._trainer, kwargs.get("model"))

    @journal.shielded
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        journal.write("step", edge="begin", step=state.global_step + 1)

    @journal.shielded
    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._stepping = journal.phase("optimizer")
        self._stepping.__enter__()

    @journal.shielded
    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        if self._stepping is not None:
            self._stepping.__exit__(None, None, None)
            self._stepping = None

    @journal.shielded
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        numbers = {name: each for name, each in (logs or {}).items() if isinstance(each, (int, float))}
        journal.write("logged", step=state.global_step, values=numbers)

    @journal.shielded
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        journal.write("step", edge="end", step=state.global_step)
        made = state.global_step - (self._first or 0)
        wanted = 1 if settings().resume else moved.wanted(made)
        if made < wanted and state.global_step < state.max_steps:
            updates.enlarge(self._trainer, kwargs.get("model"), made)
            return
        moved.compare(self._trainer, kwargs.get("model"))
        control.should_training_stop = True
        if settings().resume or not settings().tiny:
            return
        control.should_log = True
        control.should_save = control.should_save or _asks(args, "save_strategy")
        control.should_evaluate = control.should_evaluate or _asks(args, "eval_strategy", "evaluation_strategy")


def _callback(base: Any) -> Any:
    return type("Rehearsal", (_Steps, base), {})


def _asks(args: Any, *names: str) -> bool:
    """Whether a strategy is other than `no`; what is not asked for is not rehearsed, which is told."""
    value = next((getattr(args, name) for name in names if hasattr(args, name)), "no")
    asked = str(getattr(value, "value", value)) != "no"
    if not asked:
        journal.left_out("save" if names[0] == "save_strategy" else "evaluation", "not_in_the_run")
    return asked
