"""The policy that learns: what it gives the fixed sequences, and what its weights are.

A forward in evaluation mode, without gradients, one sequence at a time; modes and random state are put back, so that
the training computes what it would have computed without it.

Runs inside the patient: Python 3.9, the patient's own torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Mapping, Optional, Sequence

from doctor.monitors.guard.shards import sharded
from doctor.monitors.witness.asked import CannotAsk, Logps
from doctor.monitors.witness.draws import draws_kept
from doctor.oracles.logps import coarser
from doctor.oracles.weights import Checksum, precision_of, weight_checksums

#: what stands around a model; the one inside computes the same on this rank alone
_AROUND = ("_orig_mod", "module")


class TrainedModel:
    """The trained model of one rank.

    Args:
        model: a torch module that gives logits, wrapped or not.
        context: gives the context of the trainer's own forwards (autocast).
        whole: gives the model as it is trained, with all that stands around it, where `model` is what stands inside.
        together: whether a forward of this rank waits for others though each holds the whole model: a sequence that is
            divided among ranks (Ulysses) goes through collectives in every attention.

    """

    def __init__(
        self,
        model: Any,
        context: Optional[Callable[[], Any]] = None,
        whole: Optional[Callable[[], Any]] = None,
        *,
        together: bool = False,
    ) -> None:
        self._given = model
        #: whether each rank takes a part of every sequence
        self.together = together
        self._context = context or nullcontext
        self._whole = whole or (lambda: model)

    @property
    def parts(self) -> Optional[str]:
        """Why no forward can be made by this rank alone, in a few words; None where one can."""
        if self.together:
            return "each rank takes a part of every sequence, and a forward would need all of them"
        if any(_in_parts(each) for each in (self._given, self._whole()) if each is not None):
            return "each rank has only a part of the policy, and a forward would need all of them"
        return None

    @property
    def model(self) -> Any:
        """The model without what computes on all ranks together.

        Raises:
            CannotAsk: each rank holds a part of it only, or of each sequence.

        """
        parts = self.parts
        if parts is not None:
            raise CannotAsk(parts)
        return self._bare(compiled=True)

    def heard(self) -> Any:
        """The module whose forward the trainer makes: what a hook on it sees is neither compiled nor wrapped.

        Raises:
            CannotAsk: it is compiled in its place, so that a hook would be compiled, too.

        """
        model = self._bare(compiled=False)
        if getattr(model, "_compiled_call_impl", None) is not None:
            raise CannotAsk("the policy is compiled in place, and a hook on it would be compiled too")
        return model

    def _bare(self, *, compiled: bool) -> Any:
        """The model without what stands around it; `compiled`: also what torch.compile would trace, hooks and all."""
        model = self._given
        while inner := next((getattr(model, each) for each in _AROUND if hasattr(model, each)), None):
            if not compiled and hasattr(model, "_orig_mod"):
                break
            model = inner
        return model

    @property
    def vocabulary(self) -> int:
        """How many tokens it knows.

        Raises:
            CannotAsk: that cannot be told.

        """
        model = self._bare(compiled=True)
        config = getattr(model, "config", None)
        size = getattr(config, "vocab_size", None) or getattr(getattr(config, "text_config", None), "vocab_size", None)
        if size is None and self.parts is None:
            size = next((len(each) for name, each in model.named_parameters() if "embed" in name), None)
        if size is None:
            raise CannotAsk("the policy does not expose the size of its vocabulary")
        return int(size)

    @property
    def longest(self) -> Optional[int]:
        """Tokens that it can take in; None where it does not tell."""
        found = getattr(getattr(self._bare(compiled=True), "config", None), "max_position_embeddings", None)
        return found if isinstance(found, int) else None

    @property
    def rotary(self) -> bool:
        """Whether only the distance of two tokens counts for it, as its config tells."""
        config = getattr(self._bare(compiled=True), "config", None)
        names = ("rope_theta", "rope_parameters", "rope_scaling")
        configs = [each for each in (config, getattr(config, "text_config", None)) if each is not None]
        return any(getattr(each, name, None) is not None for each in configs for name in names)

    @property
    def precision(self) -> Optional[str]:
        """That it computes in: of its weights, of FSDP, or of the autocast around it; None where that is not known."""
        import torch

        model = self._bare(compiled=True)
        weight = next(iter(model.parameters()))
        with self._context():
            given = _autocast(torch, weight.device.type)
        known: Optional[str] = precision_of(weight) if given is None else str(given).rpartition(".")[2]
        whole = self._whole()
        if any(_by_deepspeed(each) for each in (whole, self._given)):
            return None
        for each in () if self.parts is None else (whole if whole is not None else model).modules():
            known = coarser(known, _mixed(each) or known)
        return known

    @property
    def has_adapter(self) -> bool:
        """Whether it trains an adapter that can be switched off (PEFT)."""
        return callable(getattr(self._bare(compiled=True), "disable_adapter", None))

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """Log probabilities of given tokens, None for the first of each.

        Args:
            sequences: token ids.
            base: with the adapter switched off.

        Raises:
            CannotAsk: the model gives no logits.

        """
        import torch

        model = self.model
        without = model.disable_adapter() if base else nullcontext()
        with _undisturbed(model), torch.no_grad(), self._context(), without:
            return [self._one(torch, model, ids) for ids in sequences]

    @staticmethod
    def _one(torch: Any, model: Any, ids: Sequence[int]) -> Logps:
        device = next(iter(model.parameters())).device
        row = torch.tensor([list(ids)], device=device)
        output = model(input_ids=row) if _takes_names(model) else model(row)
        logits = getattr(output, "logits", output)
        if not hasattr(logits, "shape") or len(logits.shape) != 3:
            raise CannotAsk("the policy's forward gives no logits")
        logps = torch.log_softmax(logits[0, :-1].float(), dim=-1)
        taken: list[float] = logps.gather(1, row[0, 1:].unsqueeze(1)).squeeze(1).tolist()
        return [None, *taken]

    def tensors(self) -> Mapping[str, Any]:
        """Weights by name, adapters merged into theirs.

        Raises:
            CannotAsk: this rank holds a part only.

        """
        import torch

        model = self.model
        found = dict(model.named_parameters())
        with torch.no_grad():
            for name, module in model.named_modules():
                layer = getattr(module, "base_layer", None)
                if layer is not None and hasattr(module, "get_delta_weight") and not getattr(module, "merged", True):
                    for adapter in module.active_adapters:
                        key = f"{name}.base_layer.weight"
                        found[key] = found[key] + module.get_delta_weight(adapter).to(found[key].dtype)
        return found

    def beginnings(self) -> Mapping[str, Any]:
        """Of weights that the ranks share out, what this one holds from the first value on; nothing is gathered.

        fully_shard gives the first rank the first rows, ZeRO-3 the first values of the flat weight:
        https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
        https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/zero/partition_parameters.py
        """
        held = {name: _beginning(each) for name, each in self._bare(compiled=True).named_parameters()}
        return {name: each for name, each in held.items() if each is not None}

    def checksums(self) -> dict[str, Checksum]:
        """What is kept of this step, to know it again in an engine; nothing where only an adapter moves.

        Of a policy in parts it is that of the `beginnings`, whose first values alone are those of a whole weight.
        """
        if self.has_adapter:
            return {}
        model = self._bare(compiled=True)
        return weight_checksums(dict(model.named_parameters()) if self.parts is None else self.beginnings())


def _autocast(torch: Any, kind: str) -> Any:
    """Precision of the autocast that is on now for a kind of device; None where none is."""
    try:
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    except (AttributeError, TypeError):  # before torch 2.4 each kind has functions of its own
        if kind == "cpu":
            return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


def _by_deepspeed(model: Any) -> bool:
    """Whether DeepSpeed casts within the model by an autocast of its own."""
    asked = getattr(model, "torch_autocast_enabled", None)
    return callable(asked) and bool(asked())


def _mixed(module: Any) -> Optional[str]:
    """Precision in which FSDP, its first or its second one, lets a module compute; None where it tells none."""
    policy = getattr(module, "mixed_precision", None)
    if policy is None and hasattr(module, "_get_fsdp_state"):
        policy = getattr(module._get_fsdp_state(), "_mp_policy", None)  # noqa: SLF001 - nothing public tells it
    found = getattr(policy, "param_dtype", None)
    return None if found is None else str(found).rpartition(".")[2]


def _beginning(weight: Any) -> Any:
    """What this rank holds of a weight where its first value is the weight's; None where it is another part."""
    if hasattr(weight, "ds_id"):
        share: Any = getattr(weight, "ds_tensor", None)
        first = share is not None and _rank(getattr(weight, "ds_process_group", None)) == 0
        return share if first and share.numel() else None
    if not hasattr(weight, "full_tensor"):
        return None
    at = weight.device_mesh.get_coordinate()
    shares = zip(weight.placements, at or ())  # noqa: B905 - Python 3.9
    first = at is not None and all(each.is_replicate() or (each.is_shard(0) and not here) for each, here in shares)
    held = weight.to_local() if first else None
    return held if held is not None and held.numel() else None


def _rank(group: Any) -> int:
    from torch import distributed

    return int(distributed.get_rank(group)) if distributed.is_initialized() else 0


def _in_parts(model: Any) -> bool:
    """Whether each rank holds a part: FSDP, DTensor, or ZeRO-3, which marks its parameters."""
    return sharded(model) or any(hasattr(each, "ds_id") for each in model.parameters())


def _takes_names(model: Any) -> bool:
    """Whether its forward names its first argument as transformers do."""
    code = getattr(getattr(type(model), "forward", None), "__code__", None)
    names = () if code is None else code.co_varnames
    return "input_ids" in names or "kwargs" in names or hasattr(model, "config")


@contextmanager
def _undisturbed(model: Any) -> Iterator[None]:
    """Evaluation mode within, and afterwards modes and random states as they were."""
    training = [each for each in model.modules() if each.training]
    with draws_kept():
        try:
            for each in training:
                each.training = False
            yield
        finally:
            for each in training:
                each.training = True
