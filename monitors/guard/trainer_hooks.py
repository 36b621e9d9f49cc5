"""What the guard puts around the methods of a transformers Trainer, and what it does when a step is not finite.

On the instance only, and taken off when the training ends: `compute_loss` (the losses and batches of this step),
`training_step` (a generation that dies of NaN weights), `accelerator.clip_grad_norm_` (the norm, which is reduced over
the ranks and the same on all of them), and the reward functions of a TRL trainer. A trainer that computes the loss in a
`training_step` of its own (OnlineDPO of TRL) is watched at `accelerator.backward` and at its model's forward.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Callable, NamedTuple, Optional

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.monitors.guard import finite
from doctor.monitors.guard.born import not_finite
from doctor.monitors.guard.canary import canary_of
from doctor.monitors.guard.deepspeed import EngineWatch
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.locate import Birth, locate, module_name
from doctor.monitors.guard.norms import Norms
from doctor.monitors.guard.operation import first_nan
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.rewards import Bad, Rewards, born_in_reward, returned_no_number
from doctor.monitors.guard.scale import Reading
from doctor.monitors.guard.shards import sharded
from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.hooks import witness_of

#: losses of one step that are kept, and batches for the search: a forward of each is run again at most
MOST_LOSSES, MOST_BATCHES = 1024, 8

#: bytes that all kept batches may keep alive: images of a step would fill the card
MOST_KEPT_BYTES = 256 << 20

#: a batch so small is followed by so many that are not measured: those of one training are alike
SMALL_BYTES, MEASURE_EVERY = MOST_KEPT_BYTES >> 6, 16

#: steps of which one batch is held beyond its step
HOLD_EVERY = 50

#: steps between two looks at the scale of a GradScaler that has skipped none
LOOK_EVERY = 50

#: steps without a bad reward after which a function is told again
CALM = 20

_NOT_FINITE = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


class Batch(NamedTuple):
    """What `compute_loss` was called with, or the model itself (`alone`), and the loss that was made of it."""

    model: Any
    inputs: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loss: Any
    alone: bool = False


class TrainerHooks:
    """The guard of one trainer; `stop` and `save` say what the end of the step has to do.

    Args:
        trainer: a transformers Trainer that is about to train.
        guard: where findings go.

    """

    def __init__(self, trainer: Any, guard: Guard) -> None:
        self.trainer, self.guard = trainer, guard
        self.stop = self.save = False
        #: whether a step that is not finite is left out by somebody else: DeepSpeed's engine, torch's GradScaler
        self.skips_itself = False
        #: the step that is logged next was not finite, which is said already
        self.dropped = False
        #: looks on inside DeepSpeed, whose step is made within `training_step`
        self.engine: Optional[EngineWatch] = None
        self._norm: Any = None
        self._norms: Optional[Norms] = None
        self._losses: list[Any] = []
        self._batches: list[Batch] = []
        self._kept_bytes = 0
        self._last: Optional[Batch] = None
        self._held_steps = self._unmeasured = 0
        #: the class of norms that can be added to a loss as they are, once one was looked at
        self._plain: Any = None
        self._call: Optional[tuple[Any, Any]] = None
        self._compute_loss: Callable[..., Any] = trainer.compute_loss
        self._undo: list[Callable[[], None]] = []
        self._bad_rewards: dict[str, int] = {}
        self.rewards = Rewards(self._reward_not_finite)
        self._skips = 0
        self._scale: Optional[float] = None

    def attach(self) -> None:
        """Put the hooks on."""
        accelerator = self.trainer.accelerator
        self._wrap(self.trainer, "compute_loss", self._around_compute_loss)
        self._wrap(self.trainer, "training_step", self._around_training_step)
        if hasattr(accelerator, "clip_grad_norm_"):
            self._wrap(accelerator, "clip_grad_norm_", self._around_clip)
            self._norms = Norms()
            self._undo.append(self._norms.close)
        if _steps_alone(self.trainer) and hasattr(accelerator, "backward"):
            self._wrap(accelerator, "backward", self._around_backward)
            handle = self.trainer.model.register_forward_pre_hook(self._keep_call, with_kwargs=True)
            self._undo.append(handle.remove)
        wrapped = getattr(accelerator, "deepspeed_engine_wrapped", None)
        if wrapped is not None:
            self.engine = EngineWatch(wrapped.engine, self.guard, forward=self._last_forward)
            self._undo.append(self.engine.close)
        self.skips_itself = self.engine is not None or self.scaler is not None
        canary = canary_of(self.trainer, self.guard)
        if canary is not None:
            self._undo.append(canary.close)
        witness = witness_of(self.trainer, self.guard)
        if witness is not None:
            self._undo.append(witness.close)
            witness.attach()
        self.rewards.attach(self.trainer)
        self._undo.append(self.rewards.detach)

    def detach(self) -> None:
        """Take the hooks off; the trainer is as it was."""
        while self._undo:
            with suppress(Exception):
                self._undo.pop()()
        self._losses, self._batches, self._last, self._norm, self._call = [], [], None, None, None

    def _wrap(self, owner: Any, name: str, around: Callable[[Any], Callable[..., Any]]) -> None:
        self._undo.append(wrap(owner, name, around))

    def _around_compute_loss(self, original: Any) -> Callable[..., Any]:
        def compute_loss(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            kept = inputs.copy() if type(inputs) is dict else self._copied(inputs)
            result = original(model, inputs, *args, **kwargs)
            self._saw_loss(model, kept, args, kwargs, result)
            return result

        return compute_loss

    @shielded
    def _copied(self, inputs: Any) -> Any:
        """A copy of the mapping, for some losses take entries out; the tensors are the same."""
        return copy.copy(inputs)

    @shielded
    def _saw_loss(self, model: Any, inputs: Any, args: Any, kwargs: Any, result: Any) -> None:
        loss = result[0] if isinstance(result, tuple) else result
        if model.training and hasattr(loss, "detach"):
            self._keep(Batch(model, inputs, args, kwargs, loss.detach()))

    def _keep(self, batch: Batch) -> None:
        before = len(self._losses)
        if before >= MOST_LOSSES:
            return
        self._losses.append(batch.loss)
        if before == len(self._batches) < MOST_BATCHES and self._fits(batch.inputs):
            self._batches.append(batch)

    def _fits(self, inputs: Any) -> bool:
        """Whether a batch may be kept too; small ones are measured now and then only."""
        if self._unmeasured:
            self._unmeasured -= 1
            return True
        size = _bytes(inputs)
        if size <= SMALL_BYTES:
            self._unmeasured = MEASURE_EVERY
        self._kept_bytes += size
        return self._kept_bytes <= MOST_KEPT_BYTES

    @shielded
    def _keep_call(self, module: Any, args: Any, kwargs: Any) -> None:
        import torch

        if module.training and torch.is_grad_enabled():  # neither a generation nor the reference
            self._call = (args, kwargs)

    def _around_backward(self, original: Any) -> Callable[..., Any]:
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            self._saw_backward(loss)
            return original(loss, *args, **kwargs)

        return backward

    @shielded
    def _saw_backward(self, loss: Any) -> None:
        call, self._call = self._call, None
        if call is not None and hasattr(loss, "detach"):
            args, kwargs = call
            inputs = {**{f"argument {at}": each for at, each in enumerate(args)}, **kwargs}
            self._keep(Batch(self._model, inputs, args, kwargs, loss.detach(), alone=True))

    def _around_clip(self, original: Any) -> Callable[..., Any]:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            self._norm = norm = original(*args, **kwargs)
            return norm

        return clip_grad_norm_

    def _around_training_step(self, original: Any) -> Callable[..., Any]:
        def training_step(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except Exception as error:
                self._died(error)
                raise

        return training_step

    def begin_step(self) -> None:
        """Forget the step before; a batch is held now and then, for the search after a generation that died.

        That one need not be the last: where weights overflow, any batch shows it. To let go of the tensors of one in
        each step takes longer than all else that is done here.
        """
        if self._batches:
            if self._held_steps % HOLD_EVERY == 0:
                self._last = self._batches[-1]
            self._held_steps += 1
            self._losses, self._batches = [], []
        elif self._losses:
            self._losses = []
        self._kept_bytes, self._norm = 0, None
        if self._norms is not None:
            self._norms.forget()

    @property
    def scaler(self) -> Any:
        """The GradScaler that is in use; None where there is none."""
        scaler = getattr(self.trainer.accelerator, "scaler", None)
        return scaler if scaler is not None and scaler.is_enabled() else None

    @shielded
    def before_step(self) -> None:
        """Read one number, and when it is not finite find out why and carry the policy out before the step."""
        if self.skips_itself:
            return  # DeepSpeed has made its step already; GradScaler applies nothing that is not finite
        number = self._number([] if self.several else self._losses)
        if number is None or math.isfinite(number):
            return
        step = self.guard.step or 0
        losses = finite.kind(self._losses)
        norm = None if self._norm is None else float(_whole(self._norm))
        if losses is None and norm is not None and math.isfinite(norm):
            return  # both are, and only their sum is not
        name = "loss" if losses else "grad_norm"
        kind = losses or ("nan" if norm is None or math.isnan(norm) else "inf")
        self.apply(self._alarm(name, kind, step), before=True)

    @property
    def several(self) -> bool:
        """Whether there are several ranks."""
        return self.guard.world_size > 1

    def _number(self, losses: list[Any]) -> Optional[float]:
        """A number that is not finite where the gradient norm or a loss is not; the only one read in a step."""
        norm = self._norm
        if norm is None:
            return self._checked(losses)
        if type(norm) is not self._plain:
            return self._number_of_any(norm, losses)
        if not losses:
            return float(norm)
        try:
            return float(norm + losses[0]) if len(losses) == 1 else sum(_stacked([norm, *losses]).tolist())
        except (RuntimeError, ValueError):  # this loss is elsewhere, or of another shape than those before
            return self._number_of_any(norm, losses)

    def _number_of_any(self, norm: Any, losses: list[Any]) -> Optional[float]:
        """The same of a norm that is a float, or spread over the ranks, and of losses on other devices."""
        import torch

        norm = _whole(norm)
        if not hasattr(norm, "detach"):
            return float(norm)
        if norm.device.type == "xla":
            return None  # to read a number there would cut the step's graph in two
        near = [each.mean() if each.dim() else each for each in losses if each.device == norm.device]
        if len(near) == len(losses) and not any(each.dim() for each in losses):
            self._plain = torch.Tensor  # a training keeps its devices and the shape of its loss
        if near:  # 0 times a number that is not finite is NaN; one small kernel in a step without accumulation
            norm = norm.detach().add(near[0] if len(near) == 1 else _stacked(near).sum(), alpha=0)
        return float(norm)

    def _checked(self, losses: list[Any]) -> float:
        """The same where nobody clips: 0, inf or NaN of all gradients; of all ranks, where each holds a part."""
        gradients = [each.grad for each in self._model.parameters()]
        code = finite.worst_gradient([*gradients, *losses])
        if self.several and self._parts and self.guard.group.join():
            told = self.guard.group.strongest(code)
            code = code if told is None else told
        return (0.0, math.inf, math.nan)[code]

    @functools.cached_property
    def _parts(self) -> bool:
        return sharded(self._model)

    @property
    def _model(self) -> Any:
        wrapped = getattr(self.trainer, "model_wrapped", None)  # a compiled model has no truth value
        return self.trainer.model if wrapped is None else wrapped

    def _alarm(self, name: str, kind: str, step: int) -> Policy:
        """Find where it was born, say it, and give what all ranks do: none of them may miss the agreement."""
        self._say(name, kind, step, self._birth() if self.guard.group.join() else None)
        self.dropped = True
        return self.guard.agree() or Policy.WARN

    @shielded
    def _say(self, name: str, kind: str, step: int, birth: Optional[Birth]) -> None:
        bad = self.rewards.first_bad()
        if bad is not None and (birth is None or birth.what in {"loss", "gradient"}) and self._advantages_may_be_bad():
            finding = born_in_reward(bad, name, kind, step, self.guard.rank)
        else:
            finding = not_finite(name, kind, step, birth)
        finding = replace(finding, evidence=finding.evidence + tuple(self._batch_evidence()))
        policy = self.guard.policy(finding)
        if policy is Policy.CHECKPOINT and birth is not None and birth.what in {"parameter", "buffer"}:
            policy = Policy.STOP  # nothing worth saving: a checkpoint of NaN could push a good one out
        self.guard.alarm(finding, policy)

    def hook_failed(self) -> None:
        """A hook is switched off: take no part in decisions of all ranks any more."""
        self.guard.hook_failed()

    def _birth(self) -> Optional[Birth]:
        """Where it was born, the same on all ranks; each of them runs the same number of forwards."""
        batches = self._batches[: self._in_common(len(self._batches))]
        if not self.several:
            codes = [finite.kind([each.loss]) for each in batches]
            batches = [each for each, code in zip(batches, codes) if code] or batches  # noqa: B905 - Python 3.9
        if not batches:
            return self._search(None)
        for batch in batches:
            found = self._search(batch)
            if found is not None:
                return self._with_operation(found, batch)
        return None

    def _with_operation(self, birth: Birth, batch: Batch) -> Birth:
        """The same with the operation of the backward, where the whole backward is this process's own."""
        if birth.what != "gradient" or self.several or self.engine is not None:
            return birth
        told = first_nan(batch.model, functools.partial(self._forward, batch))
        return birth if told is None else birth._replace(operation=told.words)

    def _in_common(self, count: int) -> int:
        """How many batches every rank has kept; none where a rank has left."""
        told = self.guard.group.strongest(MOST_BATCHES - count)
        return 0 if told is None else MOST_BATCHES - told

    def _search(self, batch: Optional[Batch]) -> Optional[Birth]:
        model, forward = (
            (self._model, None) if batch is None else (batch.model, functools.partial(self._forward, batch))
        )
        limit_s, group = self.guard.options.locate_s, self.guard.group
        return locate(model, forward, deadline_s=limit_s, group=group, norms=self._norms)

    def _forward(self, batch: Batch) -> Any:
        if batch.alone:
            batch.model(*batch.args, **batch.kwargs)
            return batch.loss
        with self._state_kept(), self.trainer.compute_loss_context_manager():
            return self._compute_loss(batch.model, copy.copy(batch.inputs), *batch.args, **batch.kwargs)

    def _last_forward(self) -> Any:
        """The forward of the last micro-batch, once more: DeepSpeed steps behind it."""
        return self._forward(self._batches[-1]) if self._batches else None

    @contextmanager
    def _state_kept(self) -> Iterator[None]:
        """TRL's `compute_loss` adds to the metrics of the step, and steers the entropy; run again it must not."""
        attributes = vars(self.trainer)
        before, metrics = dict(attributes), copy.deepcopy(attributes.get("_metrics"))
        try:
            yield
        finally:
            attributes.update({name: value for name, value in before.items() if attributes.get(name) is not value})
            if metrics is not None:
                attributes["_metrics"] = metrics  # where TRL keeps them, in every version

    def _advantages_may_be_bad(self) -> bool:
        """Whether what a reward function returned has come through to the loss: newer TRL leaves NaN out.

        True where no batch tells: TRL 0.14 makes the advantages within `compute_loss`.
        """
        inputs = [each.inputs for each in self._batches if hasattr(each.inputs, "get")]
        told = [each.get("advantages") for each in inputs if hasattr(each.get("advantages"), "is_floating_point")]
        return not told or finite.kind(told) is not None

    def _batch_evidence(self) -> Iterator[Observed]:
        """Which tensors of the batches are not finite: advantages, log probabilities of reference or engine."""
        for batch in self._batches:
            items = batch.inputs.items() if hasattr(batch.inputs, "items") else ()
            for name, value in items:
                kind = finite.kind([value]) if hasattr(value, "is_floating_point") else None
                if kind is not None:
                    bad = ~value.isfinite()
                    rows = sorted({int(each[0]) for each in bad.nonzero().tolist()[:1000]}) if value.dim() else []
                    text = f"`{name}` holds {kind}" + (f" in rows {', '.join(map(str, rows[:20]))}" if rows else "")
                    yield Observed.quoted("guard", text)

    @shielded
    def apply(self, policy: Policy, *, before: bool) -> None:
        """Carry a policy out; `before`: the step is not applied yet, and its gradients can be dropped."""
        self.guard.settled()
        if before and policy is not Policy.WARN:
            for parameter in self._model.parameters():
                parameter.grad = None
        self.stop = self.stop or policy.stops
        self.save = self.save or policy is Policy.CHECKPOINT
        if policy is Policy.RAISE:
            self.guard.stopping(policy, "none")
            raise GuardStop(
                self.guard.findings[-1].words().headline if self.guard.findings else "requested by the guard"
            )

    @shielded
    def after_step(self) -> None:
        """Carry out what DeepSpeed's step led to; look at what GradScaler skipped."""
        scaler = self.scaler
        if self.engine is not None and self.engine.agreed is not None:
            policy, self.engine.agreed, self.dropped = self.engine.agreed, None, True
            self.apply(policy, before=False)
        if scaler is not None:
            self._scaled_step(scaler, self.guard.step or 0, bool(self.trainer.accelerator.optimizer_step_was_skipped))

    def _scaled_step(self, scaler: Any, step: int, skipped: bool) -> None:
        """Feed the scale, which is read from the device only when it may have changed, and judge a skipped step."""
        self._skips += skipped
        norm: Optional[float] = None
        if skipped or self._scale is None or step % LOOK_EVERY == 0:
            self._scale, norm = self._scale_and_norm(scaler)
        if self._scale is not None:
            self.guard.scale(Reading(self._scale, None, self._skips, skipped, type(scaler).__name__))
        if skipped:
            self.dropped = self.dropped or (norm is not None and math.isnan(norm))
            self._skipped(step)

    def _scale_and_norm(self, scaler: Any) -> tuple[Optional[float], Optional[float]]:
        """Both in one read."""
        scale, norm = getattr(scaler, "_scale", None), self._norm
        if scale is None or norm is None or not hasattr(norm, "detach"):
            return (float(scaler.get_scale()), None)
        pair = (scale.detach().float().reshape(()), _whole(norm).detach().float().to(scale.device).reshape(()))
        read: list[float] = _stacked(pair).tolist()
        return read[0], read[1]

    def _skipped(self, step: int) -> None:
        """A NaN loss is no matter of the scale; a NaN in the gradient alone is the scaler's own business.

        A backward in fp16 whose scale is too high makes NaN of infinities (inf - inf in a softmax), in the calibration
        of a run that is well too; the rules of the loss scale judge that. All ranks are here, for all have skipped.
        """
        mine = finite.worst(self._losses)
        told = self.guard.group.strongest(mine) if self.guard.group.join() else None
        worst = mine if told is None else told
        if worst:
            self.apply(self._alarm("loss", "nan" if worst == finite.NAN else "inf", step), before=False)

    @shielded
    def _reward_not_finite(self, bad: Bad) -> None:
        """Tell a function once, and again after a while without."""
        last, self._bad_rewards[bad.function] = self._bad_rewards.get(bad.function), self.guard.step or 0
        if last is None or (self.guard.step or 0) - last > CALM:
            self.guard.alarm(returned_no_number(bad, self.guard.step))

    @shielded
    def _died(self, error: Exception) -> None:
        """A step that died of numbers that are not finite, mostly in its generation: name where they come from."""
        if not isinstance(error, (RuntimeError, ValueError)) or not _NOT_FINITE.search(str(error)):
            return
        if self.several:  # the other ranks go on: nothing here may wait for them
            birth = _bad_weight(self._model, self.guard.rank)
        else:
            birth = self._search(self._batches[-1] if self._batches else self._last)
        if birth is not None:
            finding: Finding = not_finite("logits", birth.kind, self.guard.step or 0, birth)
            self.guard.alarm(finding, Policy.WARN, aloud=True)


def _steps_alone(trainer: Any) -> bool:
    """Whether its `training_step` neither calls `compute_loss` nor hands on to that of another class."""
    code = getattr(inspect.unwrap(type(trainer).training_step), "__code__", None)
    return code is not None and not {"compute_loss", "training_step"} & set(code.co_names)


def _whole(norm: Any) -> Any:
    """A norm that is spread over the ranks as one tensor: a collective, entered by all of them."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


def _bad_weight(model: Any, rank: int) -> Optional[Birth]:
    """The first weight that is not finite, as far as this rank holds it."""
    for name, parameter in model.named_parameters():
        kind = finite.kind([parameter])
        if kind is not None:
            name = module_name(name)  # noqa: PLW2901
            return Birth(name.rpartition(".")[0], name, kind, "parameter", (), rank)
    return None


def _stacked(pair: Any) -> Any:
    import torch

    return torch.stack(list(pair))


def _bytes(inputs: Any) -> int:
    """Memory that the tensors of a batch keep alive, at most: views of the same tensor are counted each."""
    values = inputs.values() if hasattr(inputs, "values") else ()
    return sum(each.untyped_storage().nbytes() for each in values if hasattr(each, "untyped_storage"))
