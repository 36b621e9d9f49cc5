"""Proof that the rollout engine has the trained weights, and whether a vLLM server still lives.

vLLM inside the trainer's process: TRL hands each weight to `load_weights` of the engine's own module. A few values of
each are kept, and behind the generation, while the engine is still awake, compared with what the engine holds. A copy
is exact in the engine's precision, so any difference means that something else was written. Found by what an object
has; the path to the module is the one that every TRL from 0.14 to 1.16 uses itself:
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_generation.py
https://github.com/huggingface/trl/blob/v0.18.0/trl/trainer/grpo_trainer.py
Where the weights did not move since the push before, equality proves nothing, and `CanaryVerdict` says so. Where
nothing is ever pushed, the weights of both sides are compared (`Twins`).

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import time
from typing import Any, Callable, NamedTuple, Optional
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from doctor.catalogue.finding import Finding
from doctor.checks.rl.sampling.rollout_weights_stale import not_pushed, overwritten
from doctor.checks.vllm.serving.server_dead_while_training import not_answering
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.twins import PLAIN, WEIGHTS, Twins, places

#: attribute paths from a trainer to vLLM's `LLM`: TRL from 0.27 on, and before
LLMS = ("vllm_generation.llm", "llm")

#: from the `LLM` to the module whose weights are loaded
MODULE = "llm_engine.model_executor.driver_worker.model_runner.model"

#: methods of the `LLM` behind which samples exist that were made with these weights
GENERATES = ("generate", "chat")

#: how often a server is asked, the pause between, and how long an answer may take, in seconds
ASKED, PAUSE_S, ANSWER_S = 3, 5.0, 10.0


class CanaryVerdict(NamedTuple):
    """What one generation proved: "same", "stale", "not-pushed", or "unproven" with its reason."""

    state: str
    compared: int
    reason: str = ""


class _Sample(NamedTuple):
    where: Any
    values: Any


class WeightCanary:
    """Compares what is pushed into an engine with what it holds behind each generation.

    Args:
        llm: vLLM's `LLM`, or whatever has its `generate` and the path MODULE.
        guard: takes the alarm.
        made: tells how many optimizer steps are made; None: one less than the step that the guard is at.
        own: gives the weights that are trained, by name; without it an engine that never gets any is not noticed.

    Raises:
        AttributeError: the engine's module is not in this process, or has no `load_weights`.

    """

    def __init__(
        self, llm: Any, guard: Guard, made: Optional[Callable[[], int]] = None, own: Optional[Callable[[], Any]] = None
    ) -> None:
        self._guard = guard
        self._made = made or (lambda: (guard.step or 1) - 1)
        self._own = own or (lambda: ())
        self._begun = self._made()
        self._twins: Optional[Twins] = None
        self._module = _follow(llm, MODULE)
        self._weights: dict[str, Any] = {}
        self._pushed: dict[str, _Sample] = {}
        self._before: dict[str, Any] = {}
        self._push_step: Optional[int] = None
        self._pushing = self._told = False
        self.verdict: Optional[CanaryVerdict] = None
        self._undo: list[Callable[[], None]] = []
        self._wrap(self._module, "load_weights", self._around_load)
        for name in GENERATES:
            if callable(getattr(llm, name, None)):
                self._wrap(llm, name, self._around_generate)

    def _wrap(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(around(original)))
        self._undo.append(functools.partial(owner.__dict__.pop, name, None))

    def close(self) -> None:
        """Take the hooks off."""
        while self._undo:
            self._undo.pop()()
        self._pushed, self._before, self._weights, self._twins = {}, {}, {}, None

    def _around_load(self, original: Any) -> Any:
        def load_weights(weights: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(weights) if isinstance(weights, (list, tuple)) else self._watched(weights)
            if isinstance(pairs, list):
                for pair in pairs:
                    self._push(pair)
            return original(pairs, *args, **kwargs)

        return load_weights

    def _watched(self, weights: Any) -> Any:
        """An iterator stays one: a whole model must not be held at once."""
        for pair in weights:
            self._push(pair)
            yield pair

    @shielded
    def _push(self, pair: Any) -> None:
        """Keep some values of a weight that is about to be loaded, in the engine's own precision."""
        if not self._pushing:
            self._pushing = True
            self._weights = dict(self._module.named_parameters())
            self._before = {name: each.values for name, each in self._pushed.items()}
        self._push_step = self._made()
        name, tensor = pair
        weight = self._weights.get(name)
        if name not in self._pushed and len(self._pushed) >= WEIGHTS:
            return
        if weight is None or weight.shape != tensor.shape or str(weight.dtype).rpartition(".")[2] not in PLAIN:
            return  # fused, sharded or quantized in the engine
        where = self._pushed[name].where if name in self._pushed else places(tensor)
        values = tensor.detach().reshape(-1)[where.to(tensor.device)].to(weight.dtype).to(weight.device)
        self._pushed[name] = _Sample(where.to(weight.device), values)

    def _around_generate(self, original: Any) -> Any:
        def generate(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._judge()
            return result

        return generate

    @shielded
    def _judge(self) -> None:
        """Compare, while the engine is awake; one read from the device a generation, two where it is stale."""
        self._pushing = False
        self.verdict, finding = self._compared()
        if finding is None:
            self._told = self._told and self.verdict.state != "same"
        elif not self._told:
            self._told = True
            self._guard.alarm(finding)

    def _compared(self) -> tuple[CanaryVerdict, Optional[Finding]]:
        made, step = self._made(), self._guard.step or 0
        if self._push_step is None:
            return self._never_pushed(made)
        if made > self._push_step:
            return CanaryVerdict("not-pushed", 0), not_pushed(made + 1, self._push_step + 1)
        if not self._pushed:
            return CanaryVerdict(
                "unproven", 0, "the engine has no weight in the pushed layout: it is fused, sharded or quantized"
            ), None
        same, moved = self._read()
        bad = tuple(name for name, equal in same.items() if not equal)
        if bad:
            return CanaryVerdict("stale", len(same)), overwritten(step, bad, len(same))
        if not moved:
            return CanaryVerdict("unproven", len(same), "the weights did not move since the push before"), None
        return CanaryVerdict("same", len(same)), None

    def _never_pushed(self, made: int) -> tuple[CanaryVerdict, Optional[Finding]]:
        """The engine still has the weights of the start while the trained ones have moved, or nothing is claimed."""
        held = dict(self._module.named_parameters())
        if made == self._begun:
            self._twins = Twins(self._own(), held)
            return CanaryVerdict("unproven", self._twins.count, "nothing was pushed yet"), None
        left = self._twins.left_behind(self._own(), held) if self._twins is not None else None
        if not left:
            return CanaryVerdict("unproven", 0, "nothing was pushed by the way that is watched"), None
        return CanaryVerdict("not-pushed", len(left)), not_pushed(made + 1, self._begun + 1, left)

    def _read(self) -> tuple[dict[str, bool], bool]:
        """Whether each weight holds what was pushed, and whether anything pushed differs from the push before."""
        import torch

        held = dict(self._module.named_parameters())  # an engine may put new tensors into the place of the old ones
        names = [name for name in self._pushed if name in held]
        if not names:
            return {}, False
        with torch.no_grad():
            pushed = [self._pushed[name].values for name in names]
            now = [held[name].detach().reshape(-1)[self._pushed[name].where] for name in names]
            before = [self._before.get(name, values) for name, values in zip(names, pushed)]  # noqa: B905 - Python 3.9
            together = torch.cat(pushed)  # one comparison of all: each would cost as much
            flags = [_equal(torch, torch.cat(each), together) for each in (now, before)]
            all_same, none_moved = torch.stack(flags).tolist()
            if all_same:
                return dict.fromkeys(names, True), not none_moved
            each_same = torch.stack([_equal(torch, *pair) for pair in zip(now, pushed)]).tolist()  # noqa: B905
        return dict(zip(names, each_same)), not none_moved  # noqa: B905


def _equal(torch: Any, first: Any, second: Any) -> Any:
    """Whether all values are the same; a NaN is itself."""
    return ((first == second) | (torch.isnan(first) & torch.isnan(second))).all()


def _follow(owner: Any, path: str) -> Any:
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


def _trained(trainer: Any) -> Any:
    model = getattr(trainer, "model", None)
    return () if model is None else model.named_parameters()


def canary_of(trainer: Any, guard: Guard) -> Optional[WeightCanary]:
    """The canary of a trainer whose vLLM lives in the same process; None where it has none within reach."""
    for path in LLMS:
        try:
            llm = _follow(trainer, path)
            return WeightCanary(llm, guard, lambda: int(trainer.state.global_step), lambda: _trained(trainer))
        except AttributeError:
            continue
    return None


def server_of(trainer: Any) -> Optional[str]:
    """Address of the vLLM server that a trainer asks for completions, on the rank that asks it; None elsewhere."""
    for path in ("vllm_generation.vllm_client.base_url", "vllm_client.base_url"):
        try:
            url = _follow(trainer, path)
        except AttributeError:
            continue
        if isinstance(url, str):
            return url.rstrip("/")
    return None


def server_probe(
    url: str, *, asked: int = ASKED, pause_s: float = PAUSE_S, answer_s: float = ANSWER_S
) -> Callable[[], Optional[Finding]]:
    """A function that asks a server whether it lives, for the watch over steps that are not made.

    It gives None as soon as the server answers that it is well, and where the address cannot be understood.
    """

    def probe() -> Optional[Finding]:
        began, answer = time.monotonic(), None
        for turn in range(asked):
            answer = _asked(f"{url}/health", answer_s)
            if answer is None:
                return None
            if turn + 1 < asked:
                time.sleep(pause_s)
        refused, status = answer or (False, None)
        return not_answering(url, status, time.monotonic() - began, refused=refused)

    return probe


def _asked(url: str, answer_s: float) -> Optional[tuple[bool, Optional[int]]]:
    """None where the server is well or nothing can be said; else whether it refused, and its HTTP status."""
    if not url.startswith(("http://", "https://")):
        return None
    try:
        with urlopen(Request(url), timeout=answer_s):  # noqa: S310 - http and https only
            return None
    except HTTPError as error:
        return (False, error.code) if error.code >= 500 else None  # an older server that knows no /health lives too
    except URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return True, None
        return (False, None) if isinstance(error.reason, TimeoutError) else None
    except TimeoutError:
        return False, None
