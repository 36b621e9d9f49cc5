"""The guard of a transformers Trainer, and so of TRL's trainers: a callback, and a context around the training."""

from __future__ import annotations

import functools
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Callable, Optional

from doctor.monitors.guard import exceptions
from doctor.monitors.guard.canary import server_of, server_probe
from doctor.monitors.guard.guard import APART, Guard
from doctor.monitors.guard.inventory import Inventory
from doctor.monitors.guard.options import Options, options
from doctor.monitors.guard.phase_marks import PhaseMarks
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import GuardStop, shielded, shielded_event
from doctor.monitors.guard.stacks import runs
from doctor.monitors.guard.stuck import StuckWatch
from doctor.monitors.guard.trainer_hooks import TrainerHooks

#: callers looked at in search of the trainer: it is the third one of `on_train_begin` in every known version
MOST_FRAMES = 20

_BLIND = {
    "en": (
        "doctor: guard: the trainer was not found: no NaN is caught before the step, only in what is logged; "
        "`with doctor.guard(trainer):` names it"
    ),
    "zh": (
        "doctor: guard: 没有找到 trainer:无法在优化器执行该步之前发现 NaN,只能从日志指标中发现;"
        "可以用 `with doctor.guard(trainer):` 指明"
    ),
}


class DoctorCallback:
    """Watches a training of a transformers Trainer or of any TRL trainer: ``trainer.add_callback(DoctorCallback())``.

    It derives from no class of transformers, so that importing it costs nothing; the trainer asks a callback for
    nothing but its events. They carry no trainer: it is found among the callers of `on_train_begin`, or given.

    Args:
        trainer: the trainer; None: found when the training begins.
        settings: of `doctor.monitors.guard.options.Options`: `policy`, `locate_s`, `trackers` ...

    Raises:
        ValueError: a setting is unknown or wrong.

    """

    def __init__(self, trainer: Any = None, **settings: Any) -> None:
        self._settings: Options = options(**settings)
        self._trainer = trainer
        self.guard: Optional[Guard] = None
        self._hooks: Optional[TrainerHooks] = None
        self._phases: Optional[PhaseMarks] = None
        self._inventory: Optional[Inventory] = None
        self._watch: Any = None
        self._log_due = self._idle = self._stop = self._save = False

    def __getattr__(self, name: str) -> Any:
        """Events that the guard does nothing at, also those that are yet to be invented."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(name)

    @shielded
    def on_train_begin(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Find the trainer and put the hooks on."""
        caller = sys._getframe(1)  # noqa: SLF001 - the documented way to the callers
        trainer = trainer_of(caller) if self._trainer is None else self._trainer
        self.detach()  # a training before this one may have ended with an exception, or tries a smaller batch
        self._idle = trainer is not None and _other_guards(trainer, self)
        if self._idle:
            self.guard = None
            return
        self._log_due = self._stop = self._save = False
        self.guard = Guard(self._settings, rank=_number(args, "process_index"), world_size=_number(args, "world_size"))
        self.guard.step = state.global_step
        self.guard.alerts.acts = True
        if trainer is not None:
            self._attach(trainer)
        self._begin(trainer)
        self._look_on(trainer, state.global_step, _loop(caller, trainer))

    @shielded
    def _look_on(self, trainer: Any, step: int, loop: Optional[Callable[[], bool]]) -> None:
        """Notice when no step is made any more, and record what ends the program."""
        assert self.guard is not None  # noqa: S101 - for the type checker
        self._watch = StuckWatch(self.guard, self._settings.hang_factor, self._settings.hang_at_least_s, goes_on=loop)
        server = server_of(trainer)
        if server is not None:
            self._watch.probes.append(server_probe(server))
        if self._phases is not None:
            self._watch.on_tick.append(self._phases.write)
        self._watch.beat(step)
        if self.guard.run is not None:
            exceptions.watch(self.guard)

    @shielded
    def _attach(self, trainer: Any) -> None:
        assert self.guard is not None  # noqa: S101 - for the type checker
        self._hooks = TrainerHooks(trainer, self.guard)
        self._hooks.attach()
        self._phases = PhaseMarks(trainer, self.guard)
        self._phases.attach()
        self._inventory = Inventory(trainer, self.guard)
        self._inventory.begin()
        self.guard.alerts.writers = lambda: _tensorboard(trainer)

    def _begin(self, trainer: Any) -> None:
        """Say what cannot be seen, and nothing where all can."""
        guard = self.guard
        assert guard is not None  # noqa: S101 - for the type checker
        together = guard.group.join()
        unseen = [_BLIND[guard.options.language]] if trainer is None else []
        if self._hooks is not None and self._hooks.engine is not None:
            unseen += [f"doctor: guard: {each}" for each in self._hooks.engine.missing]
        if guard.rank == 0 or not together:
            for text in unseen:
                guard.alerts.print(text)
        if not together:
            guard.tell_apart()
            unseen.append(APART[guard.options.language])
        modules = {
            name: getattr(sys.modules.get(name), "__version__", None) for name in ("transformers", "trl", "torch")
        }
        guard.start(trainer=type(trainer).__name__, unseen=unseen, versions=modules)

    @shielded_event
    def on_step_begin(self, _args: Any, state: Any, _control: Any) -> None:
        """A new optimizer step; the trainer counts it only when it is made."""
        if self.guard is not None:
            self.guard.step = state.global_step + 1
        if self._hooks is not None:
            self._hooks.begin_step()
        if self._phases is not None:
            self._phases.step_begun()

    @shielded_event
    def on_pre_optimizer_step(self, _args: Any, _state: Any, _control: Any) -> None:
        """The gradients are reduced and clipped, and not applied yet."""
        if self._hooks is not None:
            self._hooks.before_step()

    @shielded_event
    def on_optimizer_step(self, _args: Any, _state: Any, _control: Any) -> None:
        """The step is applied or was skipped, the gradients are still there."""
        if self._hooks is not None and self._hooks.skips_itself:
            self._hooks.after_step()

    @shielded_event
    def on_step_end(self, _args: Any, state: Any, control: Any) -> None:
        """Carry out what was decided; agree with the other ranks one step behind a log."""
        guard = self.guard
        if guard is None:
            return
        if self._phases is not None:
            self._phases.step_ended()
        if self._inventory is not None:
            self._inventory.stepped()
        guard.stepped(state.global_step)
        if self._watch is not None:
            self._watch.beat(state.global_step)
        if guard.world_size > 1 and self._log_due:
            self._follow(guard.agree())
        self._log_due = bool(control.should_log)
        if self._stop or self._save or (self._hooks is not None and self._hooks.stop):
            self._tell(control)

    @staticmethod
    def on_substep_end(*_: Any, **__: Any) -> None:
        """Nothing: it is here because to look in vain for an event takes longer, and this one comes often."""

    @shielded
    def _alive(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """An evaluation goes on, or something was saved: a sign of life without a step."""
        if self._watch is not None:
            self._watch.beat(state.global_step)

    on_prediction_step = on_evaluate = on_save = _alive

    @shielded
    def on_log(self, _args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Judge what the trainer logs."""
        guard = self.guard
        if guard is None or not logs:
            return
        hooks = self._hooks
        if self._inventory is not None:
            self._inventory.read()
            self._inventory = None if self._inventory.done else self._inventory
        if hooks is not None and hooks.dropped:
            hooks.dropped = False
            logs = {name: value for name, value in logs.items() if name not in {"loss", "grad_norm"}}
        guard.observe(state.global_step, logs)
        if guard.world_size == 1:
            self._follow(guard.pending)
            self._tell(control)

    def _follow(self, policy: Optional[Policy]) -> None:
        """Carry out a policy about a step that is already made."""
        if policy is None or self.guard is None:
            return
        if self._hooks is not None:
            self._hooks.apply(policy, before=False)
            return
        self.guard.settled()
        if policy is Policy.RAISE:
            self.guard.stopping(policy, "none")
            raise GuardStop("requested by the policy")
        self._stop = self._stop or policy.stops
        self._save = self._save or policy is Policy.CHECKPOINT

    def _tell(self, control: Any) -> None:
        """Hand save and stop to the trainer, which does both on all ranks."""
        hooks = self._hooks
        if hooks is not None and hooks.stop:
            self._stop, self._save, hooks.save = True, self._save or hooks.save, False
        if self._stop:
            control.should_training_stop = True
            if self.guard is not None:
                policy = Policy.CHECKPOINT if self._save else Policy.STOP
                self.guard.stopping(policy, "asked" if self._save else "none")
        if self._save:
            control.should_save, self._save = True, False

    @shielded
    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Take everything off."""
        self.detach()

    def hook_failed(self) -> None:
        """One of the hooks is switched off: take no part in decisions of all ranks any more."""
        if self.guard is not None:
            self.guard.hook_failed()

    @shielded
    def detach(self) -> None:
        """Take the hooks off the trainer, end the watch, and write the last words."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._phases is not None:
            self._phases.detach()
            self._phases = None
        if self._inventory is not None:
            self._inventory.close()
            self._inventory = None
        if self._hooks is not None:
            self._hooks.detach()
            self._hooks = None
        if self.guard is not None:
            self.guard.close()


def _tensorboard(trainer: Any) -> list[Any]:
    """Writers of tensorboard that the trainer's callbacks have open now."""
    return [each.tb_writer for each in trainer.callback_handler.callbacks if getattr(each, "tb_writer", None)]


def trainer_of(frame: Optional[FrameType]) -> Any:
    """The transformers Trainer among the callers: the `self` of the frame that fires the event; None if none is."""
    module = sys.modules.get("transformers.trainer")
    known = getattr(module, "Trainer", None)
    found = None if known is None else _frame_of(frame, lambda each: isinstance(each, known))
    return None if found is None else found.f_locals["self"]


def _frame_of(frame: Optional[FrameType], wanted: Callable[[Any], bool]) -> Optional[FrameType]:
    """The first of the callers whose `self` is wanted."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            return None
        if wanted(frame.f_locals.get("self")):
            return frame
        frame = frame.f_back
    return None


def _loop(frame: Optional[FrameType], trainer: Any) -> Optional[Callable[[], bool]]:
    """Tells whether this thread is still within the training: one that an exception has ended fires no event."""
    found = None if trainer is None else _frame_of(frame, lambda each: each is trainer)
    return None if found is None else functools.partial(runs, threading.get_ident(), found.f_code)


def _other_guards(trainer: Any, own: DoctorCallback) -> bool:
    """Whether a callback that was added later guards this trainer: the last one counts, for it is the user's own."""
    guards = [each for each in trainer.callback_handler.callbacks if isinstance(each, DoctorCallback)]
    return bool(guards) and guards[-1] is not own


def _number(args: Any, name: str) -> Optional[int]:
    value = getattr(args, name, None)
    return value if isinstance(value, int) else None


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing at an event."""


class guard:  # noqa: N801 - used like a function, `with doctor.guard(trainer):`
    """Guard a trainer from now on; as a context it also records the exception that ends the training.

    Args:
        trainer: a transformers Trainer, or one of TRL's.
        settings: as for `DoctorCallback`.

    Raises:
        ValueError: a setting is unknown or wrong.

    """

    def __init__(self, trainer: Any, **settings: Any) -> None:
        self.callback = DoctorCallback(trainer, **settings)
        trainer.add_callback(self.callback)

    def __enter__(self) -> guard:  # noqa: PYI034 - Python 3.9 has no Self
        """Begin; the hooks go on with the training itself."""
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Record what ended the training, and say what was seen before; the exception goes on its way."""
        self._ended(error)

    @shielded
    def _ended(self, error: Optional[BaseException]) -> None:
        watched = self.callback.guard
        if watched is not None and error is not None and not isinstance(error, GuardStop):
            watched.exception(error)
            watched.alerts.print(_diagnosis(watched, error))
        self.callback.detach()


def _diagnosis(watched: Guard, error: BaseException) -> str:
    """What the guard saw of a run that ended with an exception."""
    lines = [f"doctor: the training ended with {type(error).__name__} at step {watched.step}"]
    language = watched.options.language
    lines += [f"    {each.problem.id} {each.words(language).headline}" for each in watched.findings[-5:]]
    if watched.run is not None:
        lines.append(f"    doctor postmortem --run {watched.run.path}")
    return "\n".join(lines)
