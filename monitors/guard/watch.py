"""`doctor.watch(...)`: the guard of a loop that no trainer drives, be it a DeepSpeed engine or plain PyTorch.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import atexit
from typing import Any, Callable, Optional, Union

from doctor.monitors.guard import exceptions
from doctor.monitors.guard.deepspeed import EngineWatch
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.loop import LoopWatch
from doctor.monitors.guard.loop_inventory import ENGINE
from doctor.monitors.guard.options import options
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.stuck import StuckWatch
from doctor.monitors.guard.veto import innermost
from doctor.monitors.witness.asked import Engine
from doctor.monitors.witness.judge import Batch
from doctor.monitors.witness.loops import witness_of_loop
from doctor.monitors.witness.witness import Witness


class Watched:
    """What `watch` gives: close it, or use it in a `with`, which also records the exception that ends the run.

    Args:
        guard: takes alarms and metrics.
        part: looks on from inside the loop.
        witness: asks the rollout engine what the trained model is asked, too; None where no engine was handed over.

    """

    def __init__(self, guard: Guard, part: Any, witness: Optional[Witness] = None) -> None:
        self.guard = guard
        self._witness = witness
        self._part = part
        self._closed = False
        self._stuck = StuckWatch(guard, guard.options.hang_factor, guard.options.hang_at_least_s)
        guard.on_step = self._stepped
        if guard.run is not None:
            exceptions.watch(guard)
        atexit.register(self.close)

    def _stepped(self, step: int) -> None:
        """A step is made: the engine still has the weights that its forward was made with."""
        self._stuck.beat(step)
        if self._witness is not None:
            self._witness.stepped()

    @property
    def missing(self) -> list[str]:
        """What cannot be seen or done here, one short line each."""
        return list(self._part.missing)

    def observe(self, **metrics: Any) -> None:
        """Tell the guard numbers of the step that is being made: `observe(loss=0.3, reward=1.2, kl=0.01)`.

        Names are TRL's (`doctor.catalogue.series`); a tensor is left out, for it would have to be read from its device.
        """
        self.guard.observe(self.guard.step or 0, metrics)

    def pushed(self) -> None:
        """Tell that the engine has just been given the trained weights, and has nothing to do: call it after each push.

        The witness asks behind the first pushes and then every 50 updates, and does nothing in between.
        """
        if self._witness is not None:
            self._witness.replaced()
            self._witness.pushed()
            self._witness.look()

    @property
    def wants_rollouts(self) -> bool:
        """Whether the witness would look at a batch now; saves making one up for nothing."""
        return self._witness is not None and self._witness.wants_batch

    def rollouts(self, **batch: Any) -> None:
        """Show the witness a batch that is trained on, with what is known of it; looked at when it is time to.

        Args:
            batch: any of `engine_ids` and `trained_ids` (whole sequences of both sides), `trained_mask` and
                `sampled_mask` (of the trained ids), `sampled_logps` and `trained_logps` (of the answers, from engine
                and trainer) with their `mask` and `classes`, `answers` (texts or messages of the episodes) and their
                `rewards`, `ends` (ids that close a turn). Arrays, tensors or nested lists.

        Raises:
            TypeError: there is no such part of a batch.

        """
        made = Batch(**batch)
        if self._witness is not None and self._witness.wants_batch:
            self._witness.batch(made)

    def __enter__(self) -> Watched:  # noqa: PYI034 - typing.Self is of Python 3.11
        """Give itself."""
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        """Record the exception, if one ends the block, and close; it goes on to whoever waits for it."""
        if error is not None:
            self.guard.exception(error)
        self.close()

    @shielded
    def close(self) -> None:
        """Take all hooks off and write the last word."""
        if not self._closed:
            self._closed = True
            atexit.unregister(self.close)
            self._stuck.close()
            if self._witness is not None:
                self._witness.close()
            self._part.close()
            self.guard.close()


def watch(
    *objects: Any,
    guard: Optional[Guard] = None,
    save: Optional[Callable[[int], Any]] = None,
    engine: Union[str, Engine, Any] = None,
    tokenizer: Any = None,
    **settings: Any,
) -> Watched:
    """Guard a loop: `watch(engine)`, `watch(scaler, model, optimizer)`, `watch(model, optimizer, engine=address)`.

    Args:
        objects: in any order. A DeepSpeed engine; or one or more of torch's optimizers, the model (to name the module
            in which a NaN is born, and to know whether ranks train together), and a GradScaler where there is one.
        guard: one's own; made of `settings` where None.
        save: called with the step on all ranks where the policy `checkpoint` asks for it. A DeepSpeed engine saves by
            itself; a plain loop without `save` stops without saving, which is said at the start.
        engine: what rollouts are sampled with: the address of a vLLM or SGLang server, vLLM's `LLM`, or an `Engine` of
            `doctor.monitors.witness`. The witness then looks whether it samples from the policy that learns; call
            `pushed()` on the handle whenever the engine has got the weights.
        tokenizer: of the model, so that the witness asks about text, and the inventory shows a row as text.
        settings: of the guard (`policy={"NUM006": "stop"}`, `lang="zh"`), see `doctor.monitors.guard.options`.

    Returns:
        A handle; the guard works until it is closed or the program ends.

    Raises:
        ValueError: an object is none of these, or a setting is wrong: before the run begins.

    """
    guard = guard if guard is not None else Guard(options(**settings))
    training = next((each for each in objects if _is_engine(each)), None)
    if training is not None:
        part: Any = EngineWatch(training, guard, alone=True, save=save, tokenizer=tokenizer)
    else:
        part = LoopWatch(guard, *_sorted(objects), save=save, tokenizer=tokenizer)
    guard.alerts.acts = True
    model = (
        training if training is not None else next((each for each in objects if hasattr(each, "named_modules")), None)
    )
    watched = Watched(guard, part, witness_of_loop(guard, model, engine, tokenizer))
    if guard.events is not None:
        guard.events.write("monitor", guard="attached", to="doctor.watch")
    if watched.missing and guard.rank == 0:
        guard.alerts.print(f"doctor: guard: {'; '.join(watched.missing)}")
    return watched


def _is_engine(each: Any) -> bool:
    return all(hasattr(each, name) for name in ENGINE)


def _sorted(objects: tuple[Any, ...]) -> tuple[list[Any], Any, Any]:
    """Optimizers, model and scaler of what was handed over.

    Raises:
        ValueError: there is no optimizer, or an object is nothing that can be watched.

    """
    optimizers, model, scaler = [], None, None
    for each in objects:
        if callable(getattr(each, "get_scale", None)):
            scaler = each
        elif hasattr(each, "named_modules"):
            model = each
        elif innermost(each) is not None:
            optimizers.append(innermost(each))
        else:
            raise ValueError(f"`{type(each).__name__}` is not a DeepSpeed engine, optimizer, module or GradScaler")
    if not optimizers:
        raise ValueError("pass the optimizer too: `doctor.watch(model, optimizer)`")
    return optimizers, model, scaler
