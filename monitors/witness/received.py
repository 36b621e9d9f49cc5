"""In an engine's own process: whether its model holds what it was sent, tensor by tensor.

A driver of Ray has no tensors, and the policy lies in other processes. But whatever sends the weights, they arrive in
the engine's worker under the names of a checkpoint, and the model's own `load_weights` writes them into its layout.
There both are at hand: what came is sampled as it comes, and what the model holds is sampled before it computes next.

https://github.com/verl-project/verl/blob/v0.9.0/verl/workers/rollout/vllm_rollout/utils.py (`update_weights_from_ipc`)
https://github.com/OpenRLHF/OpenRLHF/blob/v0.9.10/openrlhf/trainer/ray/vllm_worker_wrap.py (one tensor a call)
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/v1/worker/gpu_model_runner.py (`load_model`, `execute_model`)
https://github.com/vllm-project/vllm/blob/main/vllm/distributed/weight_transfer/nccl_engine.py

An engine may keep a tensor otherwise than it is sent: swapped halves, padding, another kernel's order. That is so for
all tensors of a kind, and from the first push on. So a tensor is held against what was sent only if its kind agreed
before, or does in most layers.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import re
import time
import weakref
from collections import defaultdict
from typing import Any, Callable, Iterator, Optional

from doctor.base.record import replace
from doctor.checks.witness.engine_not_the_policy import not_as_sent
from doctor.monitors.guard.alerts import Alerts
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.options import options as read_options
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.inside import RECEIVED
from doctor.monitors.witness.witness import FIRST_ROUNDS, affords
from doctor.oracles.layouts import Piece, is_adapter, pieces
from doctor.oracles.verdict import BROKEN
from doctor.oracles.weights import Checksum, judged, places, sampled
from doctor.run.folder import Events, RunDir

#: tensors of a push that are sampled, and pieces that are compared
MOST_SENT, MOST_COMPARED = 4000, 600

#: tensors of a kind of which most must agree, where none has been seen to agree before
_FEW = 3

_NUMBER = re.compile(r"\d+")


class _Sent:
    """A tensor that was sent, of which a sample is kept: as much of it as `checksum` asks for."""

    def __init__(self, tensor: Any, where: Any) -> None:
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self._values = tensor.detach().reshape(-1)[where]

    def reshape(self, *_: int) -> _Sent:
        """Itself: what is sampled is flat."""
        return self

    def __getitem__(self, at: Any) -> Any:
        """The sample, which is taken at the places that everybody samples at."""
        return self._values


class Received:
    """Pushes to one model of an engine.

    Args:
        model: that receives them, with `load_weights` and `named_parameters`.
        settings: of the guard; None: those of doctor.toml and the environment.
        experts: whether an expert stays at its place; one that balances their load moves them while it serves.

    """

    def __init__(self, model: Any, settings: Optional[Options] = None, *, experts: bool = True) -> None:
        options = read_options() if settings is None else settings
        run = RunDir.of_environment()
        self._events = None if run is None else Events(run, role="engine")
        # the trackers of this process are none of the run's
        self._alerts = Alerts(replace(options, trackers=False), self._events, 0, run)
        self._every = options.witness_every
        self._model, self._experts = weakref.ref(model), experts
        self.pushes = self.rounds = 0
        self.spent_s = 0.0
        self._begun_s, self._last = time.monotonic(), 0
        self._first: Optional[str] = None
        self._sent: dict[str, _Sent] = {}
        self._where: dict[tuple[int, Any], Any] = {}
        self._due = self._left = False
        #: kinds of tensors that the model holds as they are sent, and what was sent last
        self._as_sent: set[str] = set()
        self._past: dict[int, dict[str, Checksum]] = {}
        self._told: set[tuple[str, ...]] = set()
        #: takes off what awaits the model's next step; None: nothing does
        self.undo: Optional[Callable[[], None]] = None

    @property
    def waits(self) -> bool:
        """Whether something has come that is to be compared, and nothing awaits the model's next step yet."""
        return bool(self._sent) and self.undo is None

    @shielded
    def note(self, pair: Any) -> None:
        """A name and its tensor arrive: sample it, where this push is one to be looked at."""
        name, tensor = pair
        if self._first is None or name == self._first:
            self._begin(name)
        if not self._due or len(self._sent) >= MOST_SENT or not _is_plain(name, tensor):
            return
        began_s = time.monotonic()
        key = (tensor.numel(), tensor.device)
        if key not in self._where:
            self._where[key] = tensor.new_tensor(places(key[0]), dtype=_whole())
        self._sent[name] = _Sent(tensor, self._where[key])
        self.spent_s += time.monotonic() - began_s

    def leave(self) -> None:
        """Look at no more pushes: somebody compares the model with more than what it was sent."""
        self._left, self._sent = True, {}

    def _begin(self, name: Any) -> None:
        """A push begins when the name that came first comes again."""
        self._first, self._sent = name, {}
        self.pushes += 1
        later = bool(self._every) and self.pushes - self._last >= self._every
        due = self.rounds < FIRST_ROUNDS or (later and affords(self.spent_s, self.rounds, self._begun_s))
        self._due = due and not self._left

    @shielded
    def settle(self) -> None:
        """The model is about to compute: hold what it has against what was sent."""
        began_s = time.monotonic()
        undo, self.undo = self.undo, None
        if undo is not None:
            undo()
        model, sent, self._sent = self._model(), self._sent, {}
        if model is None or not sent:
            return
        self.rounds, self._last = self.rounds + 1, self.pushes
        self._compare(sent, dict(model.named_parameters()))
        self.spent_s += time.monotonic() - began_s

    def _compare(self, sent: dict[str, _Sent], held: dict[str, Any]) -> None:
        found, unknown = pieces(sent, held)
        found = [each for each in found if self._experts or each.expert is None]
        seen = sampled(_spread([each for each in found if each.held().is_contiguous()]))
        kinds: defaultdict[str, list[bool]] = defaultdict(list)
        for each in seen:
            kinds[_kind(each.piece)].append(each.equal)
        told = {kind for kind, equal in kinds.items() if len(equal) >= _FEW and 2 * sum(equal) > len(equal)}
        self._as_sent |= {kind for kind, equal in kinds.items() if all(equal)}
        told |= self._as_sent
        verdict = judged([each for each in seen if _kind(each.piece) in told], unknown, self._past)
        self._past = {self.pushes: {each.piece.name: Checksum(each.mine, len(each.mine)) for each in seen}}
        if verdict.state is BROKEN:
            names = tuple(verdict.details["different"])
            if names not in self._told:
                self._told.add(names)
                self._alerts.say(not_as_sent(self.pushes, verdict), Policy.WARN)
        if self._events is not None:
            self._events.write(
                "monitor", witness="received", push=self.pushes, compared=verdict.details.get("compared", 0),
                different=verdict.details.get("different", []), sent=len(sent), otherwise=sorted({*kinds} - told)[:20],
                spent_s=round(self.spent_s, 4),
            )  # fmt: skip


def _whole() -> Any:
    """The type of indices."""
    import torch

    return torch.int64


def _is_plain(name: Any, tensor: Any) -> bool:
    """Whether a tensor can be sampled where it lies: a copy of a whole one may be more than the engine has room for."""
    import torch

    return (
        isinstance(name, str)
        and not is_adapter(name)
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type != "meta"
        and 0 < tensor.dim() < 3
        and tensor.numel() > 0
        and tensor.is_contiguous()
    )


def _kind(piece: Piece) -> str:
    """A tensor's name without numbers of layers and experts."""
    return _NUMBER.sub("#", piece.name)


def _spread(found: list[Piece]) -> list[Piece]:
    """At most so many, evenly over all of them."""
    count = min(len(found), MOST_COMPARED)
    return [found[at * len(found) // count] for at in range(count)]


def runners(module: Any, name: str, loads: str, computes: str) -> None:
    """Stand around where the runner of an engine loads its model.

    Args:
        module: that holds the class.
        name: of the class.
        loads: its method that makes and loads the model.
        computes: its method that the engine's every step goes through.

    """
    owner: Any = getattr(module, name, None)
    original = vars(owner).get(loads) if owner is not None else None
    if original is None or not hasattr(owner, computes):
        return

    @functools.wraps(original)
    def load_guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        _watch(self, computes)
        return result

    setattr(owner, loads, load_guarded)


@shielded
def _watch(runner: Any, computes: str) -> None:
    """Watch what the runner's model receives from now on, where a witness is wanted."""
    get = getattr(runner, "get_model", None)
    model: Any = get() if callable(get) else getattr(runner, "model", None)
    settings = read_options()
    if not settings.witness or not callable(getattr(model, "load_weights", None)) or hasattr(model, RECEIVED):
        return
    received = Received(model, settings, experts=not _moves_experts(runner))
    setattr(model, RECEIVED, received)

    def around(original: Any) -> Any:
        def load_weights(weights: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(_passing(weights, received), *args, **kwargs)
            _before_next(runner, computes, received)
            return result

        return load_weights

    wrap(model, "load_weights", around)


def _moves_experts(runner: Any) -> bool:
    """Whether the engine moves experts to balance their load, as its settings tell: vLLM's, or SGLang's."""
    settings = [getattr(runner, name, None) for name in ("parallel_config", "server_args")]
    balances = any(getattr(each, "enable_eplb", False) for each in settings)
    return balances or any(getattr(each, "init_expert_location", "trivial") != "trivial" for each in settings)


def _passing(weights: Any, received: Received) -> Any:
    """The same weights, of a kind that the model takes as it takes those: a list may be gone through twice."""
    if isinstance(weights, (list, tuple)):
        for each in weights:
            received.note(each)
        return weights
    return _noted(weights, received) if isinstance(weights, Iterator) else weights


def _noted(weights: Iterator[Any], received: Received) -> Iterator[Any]:
    for each in weights:
        received.note(each)
        yield each


@shielded
def _before_next(runner: Any, computes: str, received: Received) -> None:
    """Compare before the runner computes next, once."""
    if not received.waits:
        return

    def around(original: Any) -> Any:
        def execute(*args: Any, **kwargs: Any) -> Any:
            received.settle()
            return original(*args, **kwargs)

        return execute

    received.undo = wrap(runner, computes, around)
