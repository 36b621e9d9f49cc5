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
from doctor.oracles.weights import Checksum, precision_of, weight_checksums

#: what stands around a model; the one inside computes the same on this rank alone
_AROUND = ("_orig_mod", "module")


class Policy:
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
        self._given, self._together = model, together
        self._context = context or nullcontext
        self._whole = whole or (lambda: model)

    @property
    def model(self) -> Any:
        """The model without what computes on all ranks together.

        Raises:
            CannotAsk: each rank holds a part of it only, or of each sequence.

        """
        if self._together:
            raise CannotAsk("each rank takes a part of every sequence, and a forward would need all of them")
        if any(_in_parts(each) for each in (self._given, self._whole()) if each is not None):
            raise CannotAsk("each rank holds a part of the policy only, and a forward would need all of them")
        model = self._given
        while inner := next((getattr(model, each) for each in _AROUND if hasattr(model, each)), None):
            model = inner
        return model

    @property
    def vocabulary(self) -> int:
        """How many tokens it knows.

        Raises:
            CannotAsk: that cannot be told.

        """
        config = getattr(self.model, "config", None)
        size = getattr(config, "vocab_size", None) or getattr(getattr(config, "text_config", None), "vocab_size", None)
        if size is None:
            size = next((len(each) for name, each in self.model.named_parameters() if "embed" in name), None)
        if size is None:
            raise CannotAsk("the policy does not tell the size of its vocabulary")
        return int(size)

    @property
    def longest(self) -> Optional[int]:
        """Tokens that it can take in; None where it does not tell."""
        found = getattr(getattr(self.model, "config", None), "max_position_embeddings", None)
        return found if isinstance(found, int) else None

    @property
    def precision(self) -> str:
        """That it computes in: of its weights, or of the autocast that the trainer puts around it."""
        import torch

        weight = next(iter(self.model.parameters()))
        with self._context():
            given = _autocast(torch, weight.device.type)
        return precision_of(weight) if given is None else str(given).rpartition(".")[2]

    @property
    def has_adapter(self) -> bool:
        """Whether it trains an adapter that can be switched off (PEFT)."""
        return callable(getattr(self.model, "disable_adapter", None))

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

    def checksums(self) -> dict[str, Checksum]:
        """What is kept of this step, to know it again in an engine; nothing where only an adapter moves.

        Raises:
            CannotAsk: this rank holds a part only.

        """
        return {} if self.has_adapter else weight_checksums(dict(self.model.named_parameters()))


def _autocast(torch: Any, kind: str) -> Any:
    """Precision of the autocast that is on now for a kind of device; None where none is."""
    try:
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    except (AttributeError, TypeError):  # before torch 2.4 each kind has functions of its own
        if kind == "cpu":
            return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


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
