"""The guard inside a plain PyTorch loop: around the optimizer's step and around torch's GradScaler.

With a GradScaler nothing is read from the device in a step that is applied: the scaler itself has looked. It steps no
optimizer whose gradients overflow (a fused one it steps with `found_inf` set), which is all there is to know. A NaN in
the gradient alone is then no alarm: a backward in fp16 whose scale is too high makes NaN of infinities (inf - inf in a
softmax), also in the calibration of a run that is well. What tells them apart is the loss, which is not scaled.
https://docs.pytorch.org/docs/stable/notes/amp_examples.html
https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Optional

from doctor.monitors.guard.agree import distributed
from doctor.monitors.guard.born import not_finite
from doctor.monitors.guard.clipping import Clipping
from doctor.monitors.guard.finite import FINITE, INF, KINDS, worst_gradient
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.locate import locate
from doctor.monitors.guard.loop_inventory import of_guard
from doctor.monitors.guard.losses import Losses
from doctor.monitors.guard.norms import Norms
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.scale import Reading
from doctor.monitors.guard.shards import GATHERING, is_any, sharded
from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.monitors.guard.veto import Veto, parameters

#: optimizer steps between two agreements of the ranks, and between two looks at a scale that has not been lowered
AGREE_EVERY, LOOK_EVERY = 10, 50


class LoopWatch:
    """Looks on from inside one loop.

    Args:
        guard: takes alarms.
        optimizers: torch's own.
        model: None where nobody handed it over.
        scaler: a GradScaler, or None.
        save: saves a checkpoint of a step, called on all ranks.
        tokenizer: of the model, for the inventory of the first step; None where nobody handed it over.

    """

    def __init__(
        self,
        guard: Guard,
        optimizers: list[Any],
        model: Any = None,
        scaler: Any = None,
        *,
        save: Optional[Callable[[int], Any]] = None,
        tokenizer: Any = None,
    ) -> None:
        self.guard, self.missing = guard, _missing(optimizers, model, save)
        self._model, self._save = model, save
        self._scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self._first, self._optimizers = optimizers[0], optimizers
        self._parts = sharded(model)
        self._together = self._parts or is_any(model, GATHERING)
        self._steps = self._skipped = 0
        self._scale: Optional[float] = None
        self._losses = Losses(guard)
        self._clipping: Optional[Clipping] = None
        self._norms: Optional[Norms] = None
        self._inventory = of_guard(guard, model, tokenizer)
        self._call: Optional[tuple[Any, Any]] = None
        self._reached = self._overflow = False
        self._agreed: Optional[Policy] = None
        self._undo: list[Callable[[], None]] = []
        guard.saves = save is not None
        guard.stops = distributed() is None or self._together
        self._attach(optimizers)

    @shielded
    def _attach(self, optimizers: list[Any]) -> None:
        for each in optimizers:
            self._undo.append(Veto(each, self._refuse, self._behind).close)
        if self._scaler is None and self._model is not None:  # which tells when gradients come behind the clipping
            self._clipping, self._norms = Clipping(), Norms()
            self._undo += [self._clipping.close, self._norms.close]
        if self._model is not None:
            handle = self._model.register_forward_pre_hook(self._keep_call, with_kwargs=True)
            self._undo.append(handle.remove)
        if self._scaler is not None:
            for name, around in (
                ("scale", self._around_scale),
                ("step", self._around_step),
                ("update", self._around_update),
            ):
                original = getattr(self._scaler, name)
                setattr(self._scaler, name, functools.wraps(original)(around(original)))
                self._undo.append(functools.partial(self._scaler.__dict__.pop, name, None))

    def hook_failed(self) -> None:
        """A hook is switched off: take no part in decisions of all ranks any more."""
        self.guard.hook_failed()

    def close(self) -> None:
        """Take everything off again."""
        self._inventory.close()
        while self._undo:
            self._undo.pop()()

    @shielded
    def _keep_call(self, module: Any, args: Any, kwargs: Any) -> None:
        if module.training:
            self._call = (args, kwargs)
            if not self._inventory.done:
                self._inventory.called(args, kwargs)
        if self._clipping is not None:
            self._clipping.forget()

    @shielded
    def _refuse(self, optimizer: Any) -> bool:
        """Judge the gradients of an optimizer that is about to step."""
        if self._scaler is not None:
            self._reached = True
            found = getattr(optimizer, "found_inf", None)  # a fused optimizer is stepped in any case, and skips itself
            self._overflow = self._overflow or (found is not None and bool(found))
            self._look(optimizer)
            return False
        if optimizer is self._first:
            self._steps += 1
            self.guard.step = self._steps
        code = self._gradients(parameters(optimizer))
        self._look(optimizer)
        if self._parts and self._all_here():
            told = self.guard.group.strongest(code)
            code = code if told is None else told
        return code != FINITE and self._alarm("grad_norm", KINDS[code]) is not Policy.WARN

    def _look(self, optimizer: Any) -> None:
        """Take the inventory of the first step; what waits for the device has just been read."""
        if optimizer is self._first and not self._inventory.done:
            self._inventory.stepping(self._optimizers)

    def _gradients(self, changed: list[Any]) -> int:
        """What the gradients of these weights hold; where the loop clips them, its norm tells when all is well."""
        norm = None if self._clipping is None else self._clipping.norm_of(changed)
        number = 0.0 if norm is None else float(norm)
        if norm is not None and math.isfinite(number):
            return FINITE
        code = worst_gradient(each.grad for each in changed)  # of finite ones too large for a norm, clipping makes 0
        return INF if code and math.isinf(number) else code  # clipping has made NaN of infinities

    def _alarm(self, name: str, told: str) -> Policy:
        """Say what is not finite, and where it was born; ranks that train one model are all here."""
        together = bool(self._all_here())
        birth = None
        if self._model is not None:
            forward, group = (self._again(), self.guard.group) if together else (None, None)
            limit_s, saw_loss = self.guard.options.locate_s, bool(self._losses.kept)
            birth = locate(self._model, forward, deadline_s=limit_s, group=group, saw_loss=saw_loss, norms=self._norms)
        policy = self.guard.alarm(not_finite(name, told, self._steps, birth))
        if policy is not Policy.WARN and together:
            self._agreed = self.guard.agree()
        return policy

    def _again(self) -> Optional[Callable[[], Any]]:
        """The last forward of the step, and the loss that was made of it where the scaler has seen it."""
        if self._call is None:
            return None
        args, kwargs = self._call
        return self._losses.made_of(functools.partial(self._model, *args, **kwargs))

    @shielded
    def _behind(self, optimizer: Any) -> None:
        if self._scaler is None and optimizer is self._first:
            self._end_of_step()

    def _end_of_step(self) -> None:
        """Let the ranks agree from time to time, and carry out what they agree on. Raises GuardStop to end the run."""
        self._losses.forget()
        self._call = None
        if self._clipping is not None and self._norms is not None:
            self._clipping.forget()
            self._norms.forget()
        self.guard.stepped(self._steps)
        policy, self._agreed = self._agreed, None
        if policy is None:
            policy = self._agree()
        if policy is None:
            return
        self.guard.settled()
        saved = self._checkpoint() if policy is Policy.CHECKPOINT else "none"
        if policy.stops:
            self.guard.stopping(policy, saved)
            raise GuardStop(f"the doctor's guard ends the run at step {self._steps} (policy {policy.value})")

    def _agree(self) -> Optional[Policy]:
        """What is to be done: of one process at once, of several from time to time, for all of them are asked."""
        due = self._together and self._steps % AGREE_EVERY == 0
        if self.guard.pending is None and not due:
            return None
        return self.guard.agree() if due or distributed() is None else None

    def _checkpoint(self) -> str:
        """Have the step saved; what became of it, for `Guard.stopping`."""
        if self._save is None:
            return "none"
        try:
            self._save(self._steps)
        except Exception as error:  # noqa: BLE001 - the user's own function: the run stops in any case
            self.guard.alerts.print(self.guard.alerts.not_saved(self._steps, error))
            return "failed"
        return "saved"

    def _around_scale(self, original: Any) -> Any:
        def scale(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            self._losses.keep(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
            return original(outputs, *args, **kwargs)

        return scale

    def _around_step(self, original: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            self._reached = False
            self.guard.step = self._steps + 1
            result = original(*args, **kwargs)
            self._overflow = self._overflow or not self._reached
            return result

        return step

    def _around_update(self, original: Any) -> Any:
        def update(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._judge(self._overflow_code() or FINITE)
            self._overflow = False
            self._finish()
            return result

        return update

    @shielded
    def _overflow_code(self) -> int:
        """What the losses hold, on any rank, where the scaler has skipped the step: it does so on all ranks."""
        if not self._overflow:
            return FINITE
        return self._losses.worst(together=bool(self._all_here())) or FINITE

    @shielded
    def _all_here(self) -> bool:
        """Whether all ranks come here in the same step, each with a guard that works."""
        return distributed() is None or (self._together and self.guard.group.join())

    @shielded
    def _judge(self, loss_code: int) -> None:
        self._steps += 1
        self._skipped += self._overflow
        scaler: Any = self._scaler
        if self._scale is None or self._overflow or self._steps % LOOK_EVERY == 0:
            self._scale = float(scaler.get_scale())
        self.guard.scale(Reading(self._scale, None, self._skipped, self._overflow, type(scaler).__name__))
        if loss_code:
            self._alarm("loss", KINDS[loss_code])

    @shielded
    def _finish(self) -> None:
        self._end_of_step()


def _missing(optimizers: list[Any], model: Any, save: Optional[Callable[[int], Any]]) -> list[str]:
    """What cannot be seen or done, for the line at the start."""
    lines = []
    if save is None:
        lines.append("no `save=` was given, so the policy checkpoint stops without saving")
    if model is None:
        lines.append("no model was given, so a NaN cannot be traced to its module")
    elif distributed() is not None and not (sharded(model) or is_any(model, GATHERING)):
        lines.append(
            "the ranks of this loop may step independently: the guard drops bad steps and warns, and does not stop "
            "the run"
        )
    if any(getattr(each, "_step_supports_amp_scaling", False) for each in optimizers):
        lines.append("a fused optimizer is queried whether it skipped, which is one read from the device per step")
    return lines
