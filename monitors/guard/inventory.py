"""What a training really trains, looked at once, in its first step: parameters, gradients, tokens, settings.

Nothing of it makes the trainer wait for a device: hooks note that a gradient came, and what lies on a device is read
when the trainer has read its own figures (`on_log`). Under ZeRO-2 and 3 `.grad` is None for every healthy parameter, so
that only the accumulation itself tells:
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_post_accumulate_grad_hook.html

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Callable, Optional

from doctor.base.redact import redact
from doctor.checks.numerics.trains_other_than_asked import of_inventory
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.run.patience import touch

SCHEMA = "doctor-inventory/1"
FILE = "inventory.json"

#: a parameter's place in a stack of layers, or among experts
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_MASKED = -100
#: tokens behind the one that ends a text: a line break, most often
_BEHIND = 3
_MOST_ELEMENTS, _MOST_GROUPS, _MOST_TEXT = 1 << 20, 400, 2000
#: trainers of answers that are good or bad each for itself, and rows that are looked at
_SINGLE, _MOST_ROWS = re.compile(r"KTO|BCO"), 2000
#: tensors of a batch that tell what is trained
_KEPT = ("input_ids", "labels", "prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "attention_mask")
#: settings of a trainer's arguments that are told as they came out
_ASKED = (
    "per_device_train_batch_size", "gradient_accumulation_steps", "world_size", "num_generations", "learning_rate",
    "lr_scheduler_type", "warmup_steps", "max_steps", "num_train_epochs", "bf16", "fp16", "gradient_checkpointing",
    "beta", "use_vllm", "max_completion_length", "max_length", "optim", "max_grad_norm", "seed",
)  # fmt: skip


class Inventory:
    """The inventory of one training, by the process of rank 0.

    Args:
        trainer: about to train, its optimizer made.
        guard: whose run folder it is kept in, and who says what is wrong.

    """

    def __init__(self, trainer: Any, guard: Guard) -> None:
        self._trainer, self._guard = trainer, guard
        self._model: Any = getattr(trainer, "model", None)
        self._handles: list[Any] = []
        self._undo: list[Callable[[], None]] = []
        self._touched: set[str] = set()
        self._batch: dict[str, Any] = {}
        self._names: set[str] = set()
        self._data: Optional[dict[str, Any]] = None
        self._hooked = False
        #: whether there is nothing more to look at
        self.done = False

    @shielded
    def begin(self) -> None:
        """Look at what is there, and at the gradients and the batch of the first step."""
        if self._guard.rank != 0 or self._guard.run is None or self._model is None:
            self.done = True
            return
        parameters = list(self._model.named_parameters())
        self._data = {"schema": SCHEMA, **_of_parameters(parameters), **_of_trainer(self._trainer, self._model)}
        for name, each in parameters:
            register = getattr(each, "register_post_accumulate_grad_hook", None)
            if each.requires_grad and register is not None:
                self._handles.append(register(functools.partial(self._accumulated, name)))
                self._hooked = True
        if callable(getattr(self._trainer, "compute_loss", None)):
            self._undo.append(wrap(self._trainer, "compute_loss", self._seen))

    def _accumulated(self, name: str, _parameter: Any) -> None:
        self._touched.add(name)

    def _seen(self, original: Any) -> Any:
        def compute_loss(*args: Any, **kwargs: Any) -> Any:
            self._look(args[1] if len(args) > 1 else kwargs.get("inputs"))
            return original(*args, **kwargs)

        return compute_loss

    @shielded
    def _look(self, inputs: Any) -> None:
        if self._batch or not hasattr(inputs, "items"):
            return
        self._names = set(map(str, inputs))
        for name, value in inputs.items():
            if name in _KEPT and hasattr(value, "numel") and 0 < value.numel() <= _MOST_ELEMENTS:
                self._batch[name] = value

    @shielded
    def stepped(self) -> None:
        """The first step is made: take the hooks off."""
        self._off()

    @shielded
    def read(self) -> None:
        """Judge and keep it; the trainer has just read its own figures from the device."""
        data, batch, self._batch = self._data, self._batch, {}
        if self.done or data is None or self._handles:
            self._batch = batch if not self.done else {}
            return
        self.done, self._data = True, None
        if self._hooked:
            data["without_gradient"] = _groups(
                name
                for name, each in self._model.named_parameters()
                if each.requires_grad and name not in self._touched
            )
            data["with_gradient"] = len(self._touched)
        tokenizer = _tokenizer(self._trainer)
        data["batch"] = _of_batch(batch, tokenizer, _ending(tokenizer, self._model))
        data["shifts"] = "shift_labels" not in self._names and shifts(self._trainer, self._model)
        for finding in of_inventory(data):
            self._guard.alarm(finding, Policy.WARN)
        assert self._guard.run is not None  # noqa: S101 - for the type checker
        path = self._guard.run.path / FILE
        text = json.dumps(redact(data, homes=False), indent=1, default=str) + "\n"
        with suppress(OSError):
            touch(lambda: path.write_text(text, encoding="utf-8"), 0)

    def _off(self) -> None:
        while self._handles:
            self._handles.pop().remove()
        while self._undo:
            self._undo.pop()()

    @shielded
    def close(self) -> None:
        """Take off what is still there."""
        self._off()
        self._batch = {}


def _size(parameter: Any) -> int:
    """Elements of a parameter, all ranks' together under ZeRO-3."""
    return int(getattr(parameter, "ds_numel", None) or parameter.numel())


def _of_parameters(parameters: list[tuple[str, Any]]) -> dict[str, Any]:
    """Trainable and frozen parameters by dtype, and the groups of names that train."""
    counts: dict[str, dict[str, int]] = {"trainable": {}, "frozen": {}}
    for _, each in parameters:
        kind = counts["trainable" if each.requires_grad else "frozen"]
        dtype = str(each.dtype).rpartition(".")[2]
        kind[dtype] = kind.get(dtype, 0) + _size(each)
    training = [name for name, each in parameters if each.requires_grad]
    double = _groups(name for name, each in parameters if str(each.dtype) == "torch.float64")
    return {**counts, "double": double, "groups": _groups(training), "tensors": len(training)}


def _groups(names: Iterable[str]) -> dict[str, int]:
    """Names without the numbers of their layers -> how many there are."""
    found: dict[str, int] = {}
    for each in names:
        key = _NUMBER.sub("N", each)
        if key in found or len(found) < _MOST_GROUPS:
            found[key] = found.get(key, 0) + 1
    return found


def _of_trainer(trainer: Any, model: Any) -> dict[str, Any]:
    """Adapters, reference, attention, optimizer and arguments, as they came out."""
    args, config = getattr(trainer, "args", None), getattr(model, "config", None)
    adapters = getattr(model, "peft_config", None)
    optimizer = getattr(trainer, "optimizer", None)
    return {
        "trainer": type(trainer).__name__, "model": type(model).__name__,
        "attention": str(getattr(config, "_attn_implementation", None)),
        "adapters": {name: _adapter(each) for name, each in adapters.items()} if isinstance(adapters, dict) else {},
        "active_adapters": _active(model),
        "reference": type(trainer.ref_model).__name__ if getattr(trainer, "ref_model", None) is not None else None,
        "optimizer": type(getattr(optimizer, "optimizer", optimizer)).__name__,
        "rates": [each.get("lr") for each in getattr(optimizer, "param_groups", [])][:16],
        "desirable": _desirable(trainer),
        "arguments": {
            name: value if isinstance(value, (int, float, bool)) else str(value)
            for name, value in ((each, getattr(args, each)) for each in _ASKED if hasattr(args, each))
        },
    }  # fmt: skip


def _desirable(trainer: Any) -> dict[str, int]:
    """Of single answers that are called good or bad (KTO, BCO): how many of the first rows are good ones."""
    data = getattr(trainer, "train_dataset", None)
    if not _SINGLE.search(type(trainer).__name__) or "label" not in (getattr(data, "column_names", None) or ()):
        return {}
    with suppress(Exception):  # a stream, or rows of another kind
        labels = data.select_columns(["label"])[:_MOST_ROWS]["label"]  # type: ignore[union-attr]  # no image is decoded
        return {"rows": len(labels), "good": sum(bool(each) for each in labels)}
    return {}


def _adapter(config: Any) -> dict[str, Any]:
    targets = getattr(config, "target_modules", None)
    return {
        "r": getattr(config, "r", None),
        "targets": sorted(targets) if isinstance(targets, (set, list, tuple)) else str(targets),
        "saved": list(getattr(config, "modules_to_save", None) or []),
        "bias": str(getattr(config, "bias", "none")),
    }  # fmt: skip


def _active(model: Any) -> list[str]:
    active = getattr(model, "active_adapters", None)
    with suppress(Exception):  # a method in some releases, which raises without an adapter
        active = active() if callable(active) else active
        return [str(each) for each in active or []]
    return []


def _tokenizer(trainer: Any) -> Any:
    made = getattr(trainer, "processing_class", None) or getattr(trainer, "tokenizer", None)
    return getattr(made, "tokenizer", made)


def _ending(tokenizer: Any, model: Any) -> frozenset[int]:
    """Tokens that end an answer: the tokenizer's, or where the trainer has none, those that the model stops at."""
    if tokenizer is not None:
        return _numbers(getattr(tokenizer, "eos_token_id", None))
    generation, config = (getattr(model, each, None) for each in ("generation_config", "config"))
    return _numbers(getattr(generation, "eos_token_id", None)) or _numbers(getattr(config, "eos_token_id", None))


def _numbers(value: Any) -> frozenset[int]:
    return frozenset(each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, int))


def _of_batch(batch: dict[str, Any], tokenizer: Any, ending: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Shares and ends of the first micro-batch, and one row as the model sees it."""
    told: dict[str, Any] = {"shapes": {name: list(each.shape) for name, each in batch.items()}}
    rows = {name: each.tolist() for name, each in batch.items() if getattr(each, "ndim", 0) == 2}
    if "labels" in rows:
        flat = [each for row in rows["labels"] for each in row]
        trained = sum(each != _MASKED for each in flat)
        told.update(tokens=len(flat), trained=trained, rows=len(rows["labels"]))
        told["ends"] = _ends([[each for each in row if each != _MASKED] for row in rows["labels"]], tokenizer)
        told["aligned"] = _aligned(rows.get("input_ids") or [], rows["labels"])
        told.update(_behind_the_end(rows, ending))
    elif "completion_mask" in rows:
        flat = [each for row in rows["completion_mask"] for each in row]
        told.update(tokens=len(flat), trained=sum(bool(each) for each in flat), rows=len(rows["completion_mask"]))
        if "completion_ids" in rows:
            told["ends"] = _ends(_unmasked(rows["completion_ids"], rows["completion_mask"]), tokenizer)
    with suppress(Exception):  # whatever a tokenizer raises
        told["seen"] = _rendered(rows, tokenizer)
    return told


def _aligned(ids: list[list[int]], labels: list[list[int]]) -> dict[str, int]:
    """Labels that are the token of their own place, and of the next one, where these two are different tokens."""
    places = [
        (label, here, there)
        for row, marks in zip(ids, labels)  # noqa: B905 - Python 3.9 has no strict=
        for label, here, there in zip(marks, row, row[1:])  # noqa: B905
        if label != _MASKED and here != there
    ]
    return {
        "of": len(places), "own": sum(label == here for label, here, _ in places),
        "next": sum(label == there for label, _, there in places),
    }  # fmt: skip


def _behind_the_end(rows: dict[str, list[list[int]]], ending: frozenset[int]) -> dict[str, int]:
    """Labels on padding, and rows whose trained end is not closed though the same token closes a part before it.

    A row without padding may have been cut, and tells nothing of its end.
    """
    padded = open_rows = 0
    parts = (rows.get("input_ids") or [], rows["labels"], rows.get("attention_mask") or [])
    for ids, labels, mask in zip(*parts):  # noqa: B905
        padded += sum(label != _MASKED and not real for label, real in zip(labels, mask))  # noqa: B905 - Python 3.9
        real = [(token, label) for token, label, there in zip(ids, labels, mask) if there]  # noqa: B905
        before, last = real[:-_BEHIND], real[-_BEHIND:]
        closed = any(token in ending for token, _ in last)
        if 0 < len(real) < len(ids) and real[-1][1] != _MASKED and not closed:
            open_rows += any(token in ending for token, _ in before)
    return {"padded": padded, "open": open_rows}


def shifts(trainer: Any, model: Any) -> bool:
    """Whether the labels go to a model that moves them by one place itself, as those for causal language do.

    False where anybody else may compute the loss, and for classes of that name that do not move them.
    https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/loss/loss_utils.py
    https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/models/bart/modeling_bart.py
    """
    own = type(trainer).compute_loss.__module__.partition(".")[0] in ("transformers", "trl")
    if not own or any(getattr(trainer, each, None) is not None for each in ("label_smoother", "compute_loss_func")):
        return False
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    if "ForCausalLM" not in type(inner).__name__ or "_loss_function" in vars(inner):
        return False
    text = inspect.getsource(inspect.unwrap(type(inner).forward))
    return "self.loss_function(" in text or "labels[..., 1:]" in text


def _unmasked(ids: list[list[int]], mask: list[list[int]]) -> list[list[int]]:
    return [[one for one, kept in zip(row, marks) if kept] for row, marks in zip(ids, mask)]  # noqa: B905


def _ends(rows: list[list[int]], tokenizer: Any) -> Optional[int]:
    """Rows whose trained tokens end with the one that ends a text; None where nobody knows which one does."""
    end = getattr(tokenizer, "eos_token_id", None)
    return None if end is None else sum(end in row[-_BEHIND:] for row in rows)


def _rendered(rows: dict[str, list[list[int]]], tokenizer: Any) -> dict[str, str]:
    """The first row as text, special tokens and all."""
    if tokenizer is None:
        return {}
    texts = {}
    if "completion_ids" in rows:
        for part in ("prompt", "completion"):
            ids, mask = rows.get(f"{part}_ids"), rows.get(f"{part}_mask")
            if ids:
                texts[part] = _unmasked(ids[:1], mask[:1])[0] if mask else ids[0]
    elif "input_ids" in rows:
        texts["row"] = rows["input_ids"][0]
        if "labels" in rows:
            texts["trained"] = [each for each in rows["labels"][0] if each != _MASKED]
    return {name: str(tokenizer.decode(ids))[:_MOST_TEXT] for name, ids in texts.items()}
