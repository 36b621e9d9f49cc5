"""What an inventory tells of parameters, adapters and a batch; the same of a trainer's and of a loop's first step.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Optional

from doctor.base.redact import redact
from doctor.run.folder import RunDir
from doctor.run.patience import touch

SCHEMA = "doctor-inventory/1"
FILE = "inventory.json"

#: a parameter's place in a stack of layers, or among experts
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_MASKED = -100
#: tokens behind the one that ends a text: a line break, most often
_BEHIND = 3
#: tokens of a prompt that is not repeated by chance
_LEAST_PROMPT = 8
#: dimensions of a batch of rows
_ROWS = 2
_MOST_ELEMENTS, _MOST_GROUPS, _MOST_TEXT = 1 << 20, 400, 2000
#: tensors of a batch that tell what is trained
_KEPT = ("input_ids", "labels", "prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "attention_mask")


def write(data: Mapping[str, Any], run: RunDir) -> None:
    """Keep an inventory in the folder of its run."""
    path = run.path / FILE
    text = json.dumps(redact(data, homes=False), indent=1, default=str) + "\n"
    with suppress(OSError):
        touch(lambda: path.write_text(text, encoding="utf-8"), 0)


def kept_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a batch that tell what is trained; none that is very large."""
    return {
        name: value
        for name, value in inputs.items()
        if name in _KEPT and hasattr(value, "numel") and 0 < value.numel() <= _MOST_ELEMENTS
    }


def _size(parameter: Any) -> int:
    """Elements of a parameter, all ranks' together under ZeRO-3."""
    return int(getattr(parameter, "ds_numel", None) or parameter.numel())


def of_parameters(parameters: list[tuple[str, Any]]) -> dict[str, Any]:
    """Trainable and frozen parameters by dtype, and the groups of names that train."""
    counts: dict[str, dict[str, int]] = {"trainable": {}, "frozen": {}}
    for _, each in parameters:
        kind = counts["trainable" if each.requires_grad else "frozen"]
        dtype = str(each.dtype).rpartition(".")[2]
        kind[dtype] = kind.get(dtype, 0) + _size(each)
    training = [name for name, each in parameters if each.requires_grad]
    double = groups_of(name for name, each in parameters if str(each.dtype) == "torch.float64")
    return {**counts, "double": double, "groups": groups_of(training), "tensors": len(training)}


def groups_of(names: Iterable[str]) -> dict[str, int]:
    """Names without the numbers of their layers -> how many there are."""
    found: dict[str, int] = {}
    for each in names:
        key = _NUMBER.sub("N", each)
        if key in found or len(found) < _MOST_GROUPS:
            found[key] = found.get(key, 0) + 1
    return found


def adapters_of(model: Any) -> dict[str, Any]:
    """The adapters of a model of PEFT's, each with what was asked of it."""
    found = getattr(model, "peft_config", None)
    return {name: _adapter(each) for name, each in found.items()} if isinstance(found, dict) else {}


def _adapter(config: Any) -> dict[str, Any]:
    targets = getattr(config, "target_modules", None)
    return {
        "r": getattr(config, "r", None),
        "targets": sorted(targets) if isinstance(targets, (set, list, tuple)) else str(targets),
        "saved": list(getattr(config, "modules_to_save", None) or []),
        "bias": str(getattr(config, "bias", "none")),
    }  # fmt: skip


def active(model: Any) -> list[str]:
    """The adapters that a model works with now."""
    active = getattr(model, "active_adapters", None)
    with suppress(Exception):  # a method in some releases, which raises without an adapter
        active = active() if callable(active) else active
        return [str(each) for each in active or []]
    return []


def _numbers(value: Any) -> frozenset[int]:
    return frozenset(each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, int))


def ending(tokenizer: Any, model: Any) -> frozenset[int]:
    """Tokens that end an answer: the tokenizer's, or where the trainer has none, those that the model stops at."""
    if tokenizer is not None:
        return _numbers(getattr(tokenizer, "eos_token_id", None))
    generation, config = (getattr(model, each, None) for each in ("generation_config", "config"))
    return _numbers(getattr(generation, "eos_token_id", None)) or _numbers(getattr(config, "eos_token_id", None))


def of_batch(batch: dict[str, Any], tokenizer: Any, ending: frozenset[int] = frozenset()) -> dict[str, Any]:
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
    told.update(_repeated(rows))
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


def _repeated(rows: dict[str, list[list[int]]]) -> dict[str, int]:
    """Rows with a prompt and a trained part behind it, and those whose trained part begins with the whole prompt."""
    found = {"prompted": 0, "repeated": 0}
    marks = rows.get("completion_mask") or [[one != _MASKED for one in row] for row in rows.get("labels") or []]
    parts = (rows.get("input_ids") or [], marks, rows.get("attention_mask") or [])
    for ids, trained, mask in zip(*parts):  # noqa: B905 - Python 3.9
        real = [(token, bool(kept)) for token, kept, there in zip(ids, trained, mask) if there]  # noqa: B905
        start = next((at for at, (_, kept) in enumerate(real) if kept), 0)
        before, behind = [token for token, _ in real[:start]], [token for token, _ in real[start:]]
        if len(before) >= _LEAST_PROMPT:
            found["prompted"] += 1
            # the tokenizer may begin the prompt with a token of its own, which the repetition lacks
            found["repeated"] += any(behind[: len(one)] == one for one in (before, before[1:]))
    return found


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


def cut_rows(batch: dict[str, Any], arguments: Mapping[str, Any]) -> Optional[int]:
    """Rows, or prompts of rows, that fill the length that was asked for: they may have been cut there.

    None where no limit is known, or no mask tells padding from text.
    """
    names = (("prompt_mask", "max_prompt_length"), ("attention_mask", "max_length"))
    for mask, limit in names:
        most, real = arguments.get(limit), batch.get(mask)
        if isinstance(most, int) and real is not None and real.ndim == _ROWS:
            return sum(sum(map(bool, row)) >= most for row in real.tolist())
    return None


def moves_labels(model: Any) -> bool:
    """Whether a model for causal language computes its loss itself, and moves the labels by one place for it.

    False for classes of that name that do not move them.
    https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/loss/loss_utils.py
    https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/models/bart/modeling_bart.py
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    if "ForCausalLM" not in type(inner).__name__ or "_loss_function" in vars(inner):
        return False
    text = inspect.getsource(inspect.unwrap(type(inner).forward))
    return "self.loss_function(" in text or "labels[..., 1:]" in text
