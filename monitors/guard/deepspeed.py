"""The guard inside a DeepSpeed engine: before its own optimizer step, and behind it.

Accelerate's wrapper steps the engine inside `backward`, so no callback of a trainer runs between gradients and weights.
The places used here are in every release from 0.9 to 0.19.8, each looked for before it is used:

- `engine._take_model_step`: once for each optimizer step, behind the reduction of the gradients
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/engine.py)
- the norm of each group, `get_grad_norm_direct` and `complete_grad_norm_calculation_for_cpu_offload`: reduced over the
  ranks, -1 for what is not finite. Their combination cannot be trusted: up to 0.19.2 it makes 1.0 of a single -1
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.17.6/deepspeed/runtime/zero/stage3.py)
- the hooks of the torch optimizer below, which the engine reaches only with gradients that it means to apply

In fp16 the engine itself skips what is not finite; in bf16 it applies NaN under ZeRO-3 before 0.19.8 and under ZeRO-1/2
from 0.17.1 to 0.19.2. Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any, Callable, Optional

from doctor.monitors.guard.agree import distributed
from doctor.monitors.guard.born import not_finite
from doctor.monitors.guard.finite import FINITE, KINDS, kind
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.locate import Birth, locate
from doctor.monitors.guard.loop_inventory import of_guard
from doctor.monitors.guard.losses import Losses
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.scale import read_scale
from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.monitors.guard.veto import Veto, innermost, parameters

#: methods of the ZeRO optimizers that give the norm of one group
NORMS = ("get_grad_norm_direct", "complete_grad_norm_calculation_for_cpu_offload")

#: optimizer steps between two agreements of the ranks, where no trainer logs
AGREE_EVERY = 10


class EngineWatch:
    """Looks on from inside one engine.

    Args:
        engine: of `deepspeed.initialize`.
        guard: takes the scale each step, and the alarms.
        forward: runs the step's forward again; None: the last call of the engine's module is kept for it.
        alone: no trainer logs and carries decisions out, so that is done here: `grad_norm` and `loss` go to the
            guard, the ranks agree every AGREE_EVERY steps, and a run that is to stop ends with GuardStop.
        save: saves a checkpoint where the policy asks for one; None: the engine's own, into `doctor-checkpoint` in the
            run folder or the working directory.
        tokenizer: of the model, for the inventory of the first step; None where nobody handed it over.

    """

    def __init__(
        self,
        engine: Any,
        guard: Guard,
        *,
        forward: Optional[Callable[[], Any]] = None,
        alone: bool = False,
        save: Optional[Callable[[int], Any]] = None,
        tokenizer: Any = None,
    ) -> None:
        self.engine, self.guard, self.forward = engine, guard, forward
        #: what cannot be seen or done, one short line each
        self.missing: list[str] = []
        #: what the ranks have agreed on and nobody has carried out
        self.agreed: Optional[Policy] = None
        self._alone, self._save = alone, save
        self._undo: list[Callable[[], None]] = []
        self._losses = Losses(guard)
        self._norms: list[Any] = []
        self._in_step = self._decided = False
        self._bad: Optional[tuple[str, Optional[str]]] = None
        self._refused = False
        self._row: dict[str, float] = {}
        self._call: Optional[tuple[Any, Any]] = None
        self._inventory = of_guard(guard, getattr(engine, "module", None) if alone else None, tokenizer)
        self._attach()

    @shielded
    def _attach(self) -> None:
        engine, optimizer = self.engine, getattr(self.engine, "optimizer", None)
        self._wrap(engine, "backward", self._around_backward)
        if not self._wrap(engine, "_take_model_step", self._around_model_step):
            self.missing.append("this DeepSpeed has no hook before its own step: NaN is caught after it")
            self._wrap(engine, "step", self._around_model_step)
        if self._alone:
            self._wrap(engine, "step", self._around_step)
        for name in NORMS:
            self._wrap(optimizer, name, self._around_norm)
        inner = innermost(optimizer)
        if inner is None:
            self.missing.append("the optimizer below DeepSpeed has no hooks: steps cannot be dropped")
        else:
            self._undo.append(Veto(inner, self._refuse).close)
        if self.forward is None and hasattr(getattr(engine, "module", None), "register_forward_pre_hook"):
            self._undo.append(engine.module.register_forward_pre_hook(self._keep_call, with_kwargs=True).remove)

    def _wrap(self, owner: Any, name: str, around: Callable[[Any], Any]) -> bool:
        """Put a function around a method of this one object; False where it has none."""
        original = getattr(owner, name, None)
        if not callable(original):
            return False
        setattr(owner, name, functools.wraps(original)(around(original)))
        self._undo.append(functools.partial(owner.__dict__.pop, name, None))
        return True

    def hook_failed(self) -> None:
        """A hook is switched off: take no part in decisions of all ranks any more."""
        self.guard.hook_failed()

    def close(self) -> None:
        """Take everything off the engine again."""
        self._inventory.close()
        while self._undo:
            self._undo.pop()()

    def _around_backward(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            self._losses.keep(args[0] if args else kwargs.get("loss"))
            return original(*args, **kwargs)

        return backward

    @shielded
    def _keep_call(self, module: Any, args: Any, kwargs: Any) -> None:
        if module.training:
            self._call = (args, kwargs)
            if not self._inventory.done:
                self._inventory.called(args, kwargs)

    def _around_norm(self, original: Any) -> Any:
        def norm(*args: Any, **kwargs: Any) -> Any:
            value = original(*args, **kwargs)
            if self._in_step:
                self._keep_norm(value)
            return value

        return norm

    @shielded
    def _keep_norm(self, value: Any) -> None:
        self._norms.append(value.detach().clone() if hasattr(value, "detach") else value)

    def _around_model_step(self, original: Any) -> Any:
        def take_model_step(*args: Any, **kwargs: Any) -> Any:
            self._begin()
            try:
                result = original(*args, **kwargs)
            finally:
                self._in_step = False
            self._judge(self._overflow_code() or FINITE)
            self._losses.forget()
            self._call = None
            return result

        return take_model_step

    @shielded
    def _begin(self) -> None:
        self.guard.step = int(self.engine.global_steps) + 1
        self._in_step, self._decided, self._refused, self._bad = True, False, False, None
        self._norms, self._row = [], {}

    @shielded
    def _refuse(self, optimizer: Any) -> bool:
        """Judge the gradients that are about to be applied, once a step; the same on all ranks, for the norm is."""
        if self._in_step and not self._decided:
            self._decided = True
            self._bad = self._not_finite(optimizer)
            if not self._inventory.done:
                self._inventory.stepping()
            if self._bad is not None:
                finding = not_finite(*self._bad, self.guard.step or 0)
                self._refused = self.guard.policy(finding) is not Policy.WARN
        return self._in_step and self._refused

    def _not_finite(self, optimizer: Any) -> Optional[tuple[str, Optional[str]]]:
        """Name and kind of what is not finite; one read from the device."""
        norm = getattr(self.engine.optimizer, "_global_grad_norm", None)
        reduced = self._norms if norm is None else [*self._norms, norm]
        if not reduced:
            told = kind(each.grad for each in parameters(optimizer))
            return None if told is None else ("grad_norm", told)
        series = self._losses.kept[-1:] if self._alone else []
        values = _numbers([*reduced, *series])
        values, loss = values[: len(reduced)], values[len(reduced) :]
        if any(math.isnan(each) for each in values):
            return "grad_norm", "nan"
        if any(math.isinf(each) or each < 0 for each in values):
            return "grad_norm", "inf" if any(math.isinf(each) for each in values) else None
        if norm is not None and (self._norms or not _scaled(self.engine)):
            self._row["grad_norm"] = values[-1]  # the optimizers of ZeRO 0 tell theirs with the scale in it
        if loss and math.isfinite(loss[0]):
            self._row["loss"] = loss[0]
        return None

    @shielded
    def _overflow_code(self) -> int:
        """What the losses hold on any rank, where the engine has skipped its step; FINITE in all other steps.

        The overflow is reduced over the ranks, so all of them come here in the same step.
        """
        optimizer = getattr(self.engine, "optimizer", None)
        if not getattr(optimizer, "overflow", False) or getattr(self.engine, "pipeline_parallelism", False):
            return FINITE
        return self._losses.worst(together=bool(self._together())) or FINITE

    @shielded
    def _together(self) -> bool:
        """Whether all ranks have a guard that works, so that what one enters here the others enter too."""
        return distributed() is None or self.guard.group.join()

    @shielded
    def _judge(self, loss_code: int) -> None:
        """Behind the step: the scale, then the alarm with the place of the birth."""
        reading = read_scale(self.engine)
        if reading is not None:
            self.guard.scale(reading)
        bad = self._bad
        if loss_code:
            bad = ("loss", KINDS[loss_code])
        elif bad is None and reading is not None and reading.overflow and not _scaled(self.engine):
            bad = ("grad_norm", None)  # bf16 and fp32 have no scale that could be too high
        if bad is not None:
            policy = self.guard.alarm(not_finite(*bad, self.guard.step or 0, self._birth()))
            if policy is not Policy.WARN:
                self.agreed = self.guard.agree()  # all ranks are here: what was judged is reduced over them
        elif self._alone and self._row:
            self.guard.observe(self.guard.step or 0, self._row)

    def _birth(self) -> Optional[Birth]:
        """Search for the birth; the weights are as they were before the step, the gradients are gone."""
        together, limit_s = bool(self._together()), self.guard.options.locate_s
        forward, group = (self.forward or self._again(), self.guard.group) if together else (None, None)
        return locate(self.engine.module, forward, deadline_s=limit_s, group=group)

    def _again(self) -> Optional[Callable[[], Any]]:
        """The last forward of the step, and the loss that was made of it."""
        if self._call is None:
            return None
        args, kwargs = self._call
        return self._losses.made_of(functools.partial(self.engine.module, *args, **kwargs))

    def _around_step(self, original: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            before = self._steps()
            result = original(*args, **kwargs)
            self._stepped(before)
            return result

        return step

    @shielded
    def _steps(self) -> Optional[int]:
        """Steps that the engine has made."""
        return int(self.engine.global_steps)

    @shielded
    def _stepped(self, before: Optional[int]) -> None:
        """The engine's function is over, which may have made a step."""
        now = self._steps()
        if now is not None and now != before:
            self._carry_out(now)

    @shielded
    def _carry_out(self, step: int) -> None:
        """Do what the ranks agree on, where no trainer does it. Whether they are asked must not hang on one rank."""
        step = int(step)
        self.guard.stepped(step)
        policy, self.agreed = self.agreed, None
        if policy is None and (distributed() is None or step % AGREE_EVERY == 0):
            policy = self.guard.agree()
        if policy is None:
            return
        self.guard.settled()
        saved = self._checkpoint(step) if policy is Policy.CHECKPOINT else "none"
        if policy.stops:
            self.guard.stopping(policy, saved)
            raise GuardStop(f"the doctor's guard ends the run at step {step} (policy {policy.value})")

    def _checkpoint(self, step: int) -> str:
        """Have the step saved; what became of it, for `Guard.stopping`."""
        try:
            self._save_step(step)
        except Exception as error:  # noqa: BLE001 - a full disk, the user's own function: the run stops in any case
            self.guard.alerts.print(self.guard.alerts.not_saved(step, error))
            return "failed"
        return "saved"

    def _save_step(self, step: int) -> None:
        if self._save is not None:
            self._save(step)
            return
        run = self.guard.run
        folder = Path("doctor-checkpoint").absolute() if run is None else run.path / "doctor-checkpoint"
        self.engine.save_checkpoint(str(folder), tag=f"step{step}")
        if self.guard.rank == 0:
            self.guard.alerts.print(f"doctor: checkpoint saved in {folder / f'step{step}'}")


def _scaled(engine: Any) -> bool:
    """Whether gradients are scaled, so that an overflow may be the scale's."""
    fp16 = getattr(engine, "fp16_enabled", None)
    return bool(fp16() if callable(fp16) else fp16)


def _numbers(values: list[Any]) -> list[float]:
    """Numbers and tensors of one number each as numbers, by one read from the device."""
    import torch

    tensors = [each.detach().float().reshape(()) for each in values if hasattr(each, "detach")]
    device = next((each.device for each in tensors if each.device.type != "cpu"), None)
    read = iter(torch.stack([each.to(device or each.device) for each in tensors]).tolist() if tensors else ())
    return [next(read) if hasattr(each, "detach") else float(each) for each in values]
