"""Where a NaN or an infinity was born: weights, buffers, batch, the first module in the order of the forward, loss.

Runs inside the patient, and only after an alarm: Python 3.9, the patient's own torch. The step's forward is run again
under hooks, without gradients; random states and buffers are put back, modes of modules are not touched.

Where entering a module is a collective (ZeRO-3, FSDP, DDP with buffers), all ranks first meet at its door: there they
learn in time that one of them has failed, is late, or computes something else, and all break off in the same place,
rather than wait in a collective for one that never comes.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from operator import itemgetter
from typing import Any, Callable, NamedTuple, Optional

from doctor.monitors.guard import finite
from doctor.monitors.guard.agree import AGREE_S, Group
from doctor.monitors.guard.finite import readable
from doctor.monitors.guard.norms import Norms, code_of, kept_codes
from doctor.monitors.guard.shards import gathers, let_go

#: what a wrapper puts before the names of a user's own modules: DDP, torch.compile, FSDP, checkpointing
WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")

#: buffers are copied before the forward and put back after it; above this nothing is run again
MOST_BUFFER_BYTES = 1 << 28

#: tensors looked at in the inputs or outputs of one module, and how deep they may be nested
MOST_TENSORS, DEEPEST = 32, 4

#: what one tensor holds, the worst of it; only -inf is often meant: masks are full of it
MINUS_INF, PLUS_INF, NAN = 1, 2, 3

#: place of a gradient in the order of births: behind everything of the forward
_LAST = 1 << 60
_KINDS = {MINUS_INF: "inf", PLUS_INF: "inf", NAN: "nan"}
_CODES = {finite.INF: PLUS_INF, finite.NAN: NAN}


class Birth(NamedTuple):
    """The first value that is not finite.

    Args:
        module: name of the module, "" for the model itself; None where it was in none.
        parameter: full name of the parameter, the buffer, or the parameter of the gradient.
        kind: "nan" or "inf".
        what: "parameter", "buffer", "input" (of the model), "activation" (computed by `module` from finite inputs),
            "loss" (computed from finite outputs of the model), "gradient" (the first in the order of the backward
            while everything in the forward is finite; of no parameter where all of all gradients is not finite, as
            clipping with such a norm leaves them), "loss or gradient" (the same where the loss was not seen).
        rows: rows of this micro-batch that hold it, where the values have that dimension.
        rank: of the process that saw it; None in a run of one process.
        operation: of a gradient: which operation of the backward gave the first NaN, and for which statement.

    """

    module: Optional[str]
    parameter: Optional[str]
    kind: str
    what: str
    rows: tuple[int, ...] = ()
    rank: Optional[int] = None
    operation: Optional[str] = None


#: what a rank says at a door: that it would go on into the module, or that its forward is over
_GO, _OVER = "go", "over"


class _BreakOff(BaseException):
    """Ends the forward that is run again; no `except Exception` of a model stops it."""


def locate(
    model: Any,
    forward: Optional[Callable[[], Any]],
    *,
    deadline_s: float = 30.0,
    group: Optional[Group] = None,
    saw_loss: bool = True,
    norms: Optional[Norms] = None,
) -> Optional[Birth]:
    """Find the birth of a non-finite value; all ranks of the group call it together.

    Args:
        model: the module that the training calls, in whatever wrapper.
        forward: runs this step's forward again and gives the loss (or an output that begins with it, or holds it as
            `loss`); None: only weights, buffers and gradients are looked at.
        deadline_s: after it the forward is broken off, where there are several ranks at the next module into which
            they go together; one that has no such module any more ends unobserved.
        group: the ranks that are here; None: nothing is exchanged, and `forward` must hold no collective. Where a rank
            has left it, no forward is run.
        saw_loss: whether `forward` gives the loss of the step and not only the model's output.
        norms: what each gradient was before it was clipped; None: clipping with NaN hides where it began.

    Returns:
        The birth that comes first on any rank, the same on all; None where all is finite or the search failed.

    """
    import torch

    several = group is not None and group.several
    if group is not None and group.complete is False:
        forward = None

    def first(search: Callable[[], Optional[tuple[int, Birth]]], limit_s: float) -> Optional[Birth]:
        """What a search finds on any rank; all ranks come to the exchange, also the one whose search failed."""
        found: Optional[tuple[int, Birth]] = None
        try:
            with torch.no_grad():
                found = search()
        except Exception as error:  # noqa: BLE001 - the other ranks wait for this one's word
            _tell(error)
        told = _of_all(group, found, limit_s) if several and group is not None else [found]
        return min((each for each in told if each is not None), key=itemgetter(0), default=(0, None))[1]

    # a weight may lie on one rank alone, and the forward is a collective: none enters it before all know of the weights
    weight = first(lambda: _stored(torch, model), AGREE_S)
    if weight is not None or (several and not _all_may(group, forward)):
        return weight
    together = group if several else None
    codes = kept_codes(norms)
    birth = first(lambda: _run_again(torch, model, forward, deadline_s, together, codes), deadline_s + AGREE_S)
    unseen = birth is not None and birth.what == "gradient" and not saw_loss
    return birth._replace(what="loss or gradient") if unseen and birth is not None else birth


def module_name(name: str) -> str:
    """A module's or parameter's name as the user's own code has it, without those of wrappers."""
    name = f"{name}."
    for wrapper in WRAPPERS[1:]:
        name = name.replace(wrapper, "")
    while name.startswith(WRAPPERS[0]):
        name = name[len(WRAPPERS[0]) :]
    return name[:-1]


def _stored(torch: Any, model: Any) -> Optional[tuple[int, Birth]]:
    """The first weight or buffer that is not finite. Buffers may hold infinities on purpose, as masks."""
    named = [(name, "parameter", getattr(each, "ds_tensor", each)) for name, each in model.named_parameters()]
    named += [(name, "buffer", each) for name, each in model.named_buffers()]
    kept = [(name, what, local) for name, what, each in named if (local := readable(each)) is not None]
    for order, (code, (name, what, _)) in enumerate(zip(_read(torch, [_code(each[2]) for each in kept]), kept)):  # noqa: B905 - Python 3.9
        if code == NAN or (code and what == "parameter"):
            name = module_name(name)  # noqa: PLW2901
            return order, Birth(name.rpartition(".")[0], name, _KINDS[code], what)
    return None


def _run_again(
    torch: Any,
    model: Any,
    forward: Optional[Callable[[], Any]],
    deadline_s: float,
    group: Optional[Group],
    codes: dict[int, int],
) -> Optional[tuple[int, Birth]]:
    """The birth in a forward of finite weights, else in the gradients."""
    trace = _Trace(torch, model, time.monotonic() + deadline_s, group)
    if forward is not None:
        try:
            with _unchanged(torch, model) as possible:
                loss = trace.run(forward) if possible else None
        finally:
            trace.over()
        let_go(model)
        birth = trace.birth(loss)
        if birth is not None or trace.blind:  # what was not seen may be where it was born
            return birth
    gradient = _gradient(torch, model, trace.order, codes)
    return None if gradient is None else (_LAST, gradient)


def _tell(error: Exception) -> None:
    sys.stderr.write(f"doctor: guard: the search for the module ended early ({type(error).__name__}: {error})\n")


class _Event(NamedTuple):
    """What went into a module, or came out of it: a code for each row, or one for all."""

    module: Optional[str]
    what: str
    codes: list[Any]


class _Trace:
    """Hooks on all modules, and what they saw; nothing is read from the device before the end.

    Args:
        torch: the patient's.
        model: the module that the training calls.
        deadline: monotonic seconds.
        group: the ranks that run the same forward; None: this one alone.

    """

    def __init__(self, torch: Any, model: Any, deadline: float, group: Optional[Group]) -> None:
        self._torch, self._model, self._deadline, self._group = torch, model, deadline, group
        self._names = {id(each): module_name(name) for name, each in model.named_modules()}
        self._stack: list[str] = []
        self._rows: Optional[int] = None
        #: whether a part of the forward was not seen, or not run
        self.blind = False
        self.events: list[_Event] = []
        self.order: dict[str, int] = {}

    def run(self, forward: Callable[[], Any]) -> Any:
        """Run the forward under the hooks; gives what it returned, None where it was broken off or failed."""
        with ExitStack() as stack:
            for module in self._model.modules():
                for hook in (
                    module.register_forward_pre_hook(self._enter, with_kwargs=True),
                    module.register_forward_hook(self._leave, with_kwargs=True),
                ):
                    stack.callback(hook.remove)
                if self._group is not None and (module is self._model or gathers(module)):
                    stack.callback(module.register_forward_pre_hook(self._door, prepend=True).remove)
            stack.enter_context(_eager(self._torch))
            try:
                return forward()
            except _BreakOff:
                self.blind = True
            except Exception as error:  # noqa: BLE001 - what was seen so far may tell
                self.blind = True
                _tell(error)
        return None

    def _door(self, _module: Any, _args: Any) -> None:
        """Go on into a collective with all other ranks, or break off with them."""
        if self._group is not None and self._said(_OVER if self._late() else _GO) != {_GO}:
            self._group = None
            raise _BreakOff

    def over(self) -> None:
        """Say to ranks that may stand at a door that this one is through, or comes no more."""
        if self._group is not None:
            self._said(_OVER)
            self._group = None

    def _said(self, word: str) -> Optional[set[str]]:
        limit_s = max(0.0, self._deadline - time.monotonic()) + AGREE_S
        told = None if self._group is None else self._group.gathered(word, limit_s)
        return None if told is None else set(told)

    def _late(self) -> bool:
        return time.monotonic() > self._deadline

    def _enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if self._sees():
            with self._unharmed():
                caller = self._stack[-1] if self._stack else None
                self._stack.append(self._names[id(module)])
                tensors = list(_tensors((args, kwargs)))
                if caller is None:
                    self._rows = next((len(each) for each in tensors if each.dim() > 1), None)
                self._note(caller, "input" if caller is None else "activation", tensors, masks=False)

    def _leave(self, module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        if self._sees():
            with self._unharmed():
                name = self._names[id(module)]
                if self._stack and self._stack[-1] == name:
                    self._stack.pop()
                self.order.setdefault(name, len(self.order))
                own = bool(module._parameters) and not module._modules  # noqa: SLF001 - named_parameters goes down
                self._note(name, "activation", list(_tensors(output)), masks=own)

    def _sees(self) -> bool:
        if not self.blind and self._late():
            self.blind = True
            if self._group is None:
                raise _BreakOff
        return not self.blind

    @contextmanager
    def _unharmed(self) -> Iterator[None]:
        """A hook that fails (no memory is left) sees nothing more, and the forward goes on: other ranks are in it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self.blind = True
            _tell(error)

    def _note(self, module: Optional[str], what: str, tensors: list[Any], *, masks: bool) -> None:
        """Keep the codes of some tensors; a -inf counts only where no mask can be meant by it."""
        codes = [_code(local, self._rows) for each in tensors if (local := readable(each)) is not None]
        if codes:
            self.events.append(_Event(module, what, codes if masks else [each * (each > MINUS_INF) for each in codes]))

    def birth(self, loss: Any) -> Optional[tuple[int, Birth]]:
        """The first event that is not finite, then the loss, of which the forward must be seen as a whole."""
        worst = _read(self._torch, [self._worst(each.codes) for each in self.events])
        for order, (code, event) in enumerate(zip(worst, self.events)):  # noqa: B905 - Python 3.9
            if code:
                return order, Birth(event.module, None, _KINDS[code], event.what, _rows(event.codes))
        final = None if self.blind else next((readable(each) for each in _tensors(loss)), None)
        code = 0 if final is None else _read(self._torch, [_code(final)])[0]
        return (len(worst), Birth(None, None, _KINDS[code], "loss")) if code else None

    def _worst(self, codes: list[Any]) -> Any:
        device = codes[0].device
        return self._torch.stack([each.amax().to(device) for each in codes]).amax()


def _code(tensor: Any, rows: Optional[int] = None) -> Any:
    """Worst value of a tensor, of each row where its first dimension counts the rows; stays on the device."""
    if rows is not None and tensor.dim() > 1 and len(tensor) == rows:
        dims = tuple(range(1, tensor.dim()))
        high, low = _real(tensor).amax(dim=dims), _real(tensor).amin(dim=dims)
    else:
        high, low = _real(tensor).amax(), _real(tensor).amin()
    plus, minus = high == float("inf"), low == -float("inf")
    code = plus.byte() * PLUS_INF + (minus & ~plus).byte() * MINUS_INF
    return code.masked_fill(high.isnan(), NAN)


def _real(tensor: Any) -> Any:
    return tensor.abs() if tensor.is_complex() else tensor


def _rows(codes: list[Any]) -> tuple[int, ...]:
    """Rows that are not finite, of the first tensor that tells rows."""
    told = next((each for each in codes if each.dim() == 1), None)
    return () if told is None else tuple(int(each) for each in told.nonzero().flatten().tolist())


def _read(torch: Any, scalars: list[Any]) -> list[int]:
    """Bring many numbers from the device at once."""
    if not scalars:
        return []
    device = scalars[0].device
    read: list[int] = torch.stack([each.to(device, non_blocking=True) for each in scalars]).tolist()
    return read


def _tensors(value: Any) -> Iterator[Any]:
    """Tensors in the value in order, at most MOST_TENSORS."""
    found = 0
    stack = [(value, 0)]
    while stack and found < MOST_TENSORS:
        each, depth = stack.pop()
        if hasattr(each, "dim") and hasattr(each, "dtype"):
            found += 1
            yield each
        elif depth < DEEPEST and isinstance(each, (list, tuple, dict)):
            parts = list(each.values()) if isinstance(each, dict) else list(each)
            stack += [(part, depth + 1) for part in reversed(parts)]


def _gradient(torch: Any, model: Any, order: dict[str, int], before: dict[int, int]) -> Optional[Birth]:
    """The first gradient in the order of the backward that is not finite: that of the last module of the forward.

    Where clipping has spoiled all of them, `before` tells which ones it were.
    """
    named = [(module_name(name), readable(each.grad), each.grad) for name, each in model.named_parameters()]
    kept = [(name, local, whole) for name, local, whole in named if local is not None]
    codes = _read(torch, [_code(each) for _, each, _ in kept])
    bad = [(name, code) for (name, _, _), code in zip(kept, codes) if code]  # noqa: B905 - Python 3.9
    if not bad:
        return None
    if len(bad) == len(kept) > 1 and not any(_read(torch, [each.isfinite().any() for _, each, _ in kept])):
        told = [(name, _CODES[code]) for name, _, whole in kept if (code := code_of(whole, before))]
        if not told:
            return Birth(None, None, _KINDS[bad[0][1]], "gradient")
        bad = told
    last = max(range(len(bad)), key=lambda index: (order.get(bad[index][0].rpartition(".")[0], -1), index))
    name, code = bad[last]
    return Birth(name.rpartition(".")[0], name, _KINDS[code], "gradient")


@contextmanager
def _unchanged(torch: Any, model: Any) -> Iterator[bool]:
    """Put random states and buffers back at the end; False where the buffers are too large to keep a copy."""
    buffers = [each for each in model.buffers() if not each.is_meta]
    if sum(each.numel() * each.element_size() for each in buffers) > MOST_BUFFER_BYTES:
        yield False
        return
    owners = [(module, name, each) for module in model.modules() for name, each in module._buffers.items()]  # noqa: SLF001 - the same name may get another tensor
    copies = [(each, each.clone()) for each in buffers]  # kernels write them without counting it as a new version
    python, cpu, numpy = random.getstate(), torch.get_rng_state(), sys.modules.get("numpy")
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    drawn = numpy.random.get_state() if numpy is not None else None
    try:
        yield True
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if numpy is not None:
            numpy.random.set_state(drawn)
        for module, name, buffer in owners:
            module._buffers[name] = buffer  # noqa: SLF001
        for buffer, copy in copies:
            buffer.copy_(copy)


def _eager(torch: Any) -> Any:
    """A compiled model does not call hooks that came after it; from torch 2.6 on it can be told to run as written."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    return nullcontext() if stance is None else stance("force_eager")


def _all_may(group: Any, forward: Optional[Callable[[], Any]]) -> bool:
    """Whether every rank is here still, and has a forward to run or none: the door to a collective."""
    told = group.gathered(str(forward is None))
    return told is not None and len(set(told)) == 1


def _of_all(group: Group, birth: Optional[tuple[int, Birth]], limit_s: float) -> list[Optional[tuple[int, Birth]]]:
    """What each rank has found; this one's own where a rank has left."""
    told = group.gathered(json.dumps(birth), limit_s)
    if told is None:
        return [birth]
    return [_with_rank(each, rank) for rank, each in enumerate(json.loads(text) for text in told)]


def _with_rank(told: Any, rank: int) -> Optional[tuple[int, Birth]]:
    if told is None:
        return None
    order, values = told
    birth = Birth(*values)
    return order, birth._replace(rows=tuple(birth.rows), rank=rank)
