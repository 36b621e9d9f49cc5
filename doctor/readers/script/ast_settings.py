"""Arguments of a call in the user's source as settings, each with its place; nested dictionaries key by key."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import distinct
from doctor.base.redact import hide
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_values import DictEntry, Values

_NESTING = 5

#: names of positional parameters that no release moved; more are not needed by name
#: (https://github.com/huggingface/trl/blob/main/trl/trainer/grpo_trainer.py,
#: https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py)
POSITIONAL: dict[str, tuple[str, ...]] = {
    "GRPOTrainer": (
        "model", "reward_funcs", "args", "train_dataset", "eval_dataset", "processing_class",
        "reward_processing_classes", "callbacks", "optimizers",
    ),
    "SFTTrainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "RewardTrainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "DPOTrainer": ("model", "ref_model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "KTOTrainer": ("model", "ref_model", "args"),
    "RLOOTrainer": (),
    "Trainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "Seq2SeqTrainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "TrainingArguments": ("output_dir",),
    "Seq2SeqTrainingArguments": ("output_dir",),
    "GRPOConfig": ("output_dir",),
    "SFTConfig": ("output_dir",),
    "DPOConfig": ("output_dir",),
    "RLOOConfig": ("output_dir",),
    "RewardConfig": ("output_dir",),
    "KTOConfig": ("output_dir",),
    "save_pretrained": ("save_directory",),
    "from_pretrained": ("pretrained_model_name_or_path", "model_id"),  # the second is that of PEFT
    "train": ("resume_from_checkpoint",),
    "load_dataset": ("path", "name", "data_dir", "data_files", "split"),
    "load_from_disk": ("dataset_path",),
    "placement_group": ("bundles", "strategy"),
    "from_json": ("path_or_paths",),
    "from_csv": ("path_or_paths",),
    "from_parquet": ("path_or_paths",),
    "get_peft_model": ("model", "peft_config", "adapter_name"),
    "prepare_model_for_kbit_training": ("model",),
    "LLM": ("model",),
    "sleep": ("level",),
    "HfArgumentParser": ("dataclass_types",),
    "TrlParser": ("dataclass_types",),
    "FullyShardedDataParallel": ("module",),
    "fully_shard": ("module",),
    "GradScaler": ("device",),
}  # fmt: skip
_BY_CLASS_SUFFIX = {"Parser": ("dataclass_types",)}


@distinct
class Arguments:
    """What a call passes. `nodes` keeps the expressions by name, for those who follow them further."""

    settings: dict[str, Observed] = field(default_factory=dict)
    nested: dict[str, Observed] = field(default_factory=dict)
    nodes: dict[str, tuple[ast.expr, Spot]] = field(default_factory=dict)
    hidden: bool = False


def arguments_of(values: Values, call: ast.Call, name: str, spot: Spot) -> Arguments:
    """Keywords, known positional arguments and unpacked dictionaries of a call."""
    found = Arguments()
    names = POSITIONAL.get(name) or next(
        (each for suffix, each in _BY_CLASS_SUFFIX.items() if name.endswith(suffix)), ()
    )
    for index, value in enumerate(call.args):
        if isinstance(value, ast.Starred) or index >= len(names):
            found.hidden = True
            break
        _add(values, found, names[index], DictEntry(value, value, spot), spot)
    for keyword in call.keywords:
        if keyword.arg is not None:
            _add(values, found, keyword.arg, DictEntry(keyword, keyword.value, spot), spot)
            continue
        entries = values.entries(keyword.value, spot)
        found.hidden = found.hidden or not entries.complete
        for key, entry in entries.items.items():
            _add(values, found, key, entry, spot)
    return found


def _add(values: Values, found: Arguments, name: str, entry: DictEntry, spot: Spot) -> None:
    found.settings[name] = setting_of(values, name, entry, spot)
    found.nested = {key: each for key, each in found.nested.items() if not key.startswith(f"{name}.")}
    if entry.value is not None:
        found.nodes[name] = (entry.value, entry.spot)
        _add_nested(values, found.nested, name, entry.value, entry.spot, _NESTING)


def _add_nested(
    values: Values, nested: dict[str, Observed], name: str, value: ast.expr, spot: Spot, depth: int
) -> None:
    """Keys of a dictionary argument, dotted."""
    if not depth or not isinstance(value, (ast.Dict, ast.Call, ast.Name, ast.BinOp)):
        return
    for key, entry in values.entries(value, spot).items.items():
        dotted = f"{name}.{key}"
        nested[dotted] = setting_of(values, dotted, entry, spot)
        if isinstance(entry.value, (ast.Dict, ast.Call)):
            _add_nested(values, nested, dotted, entry.value, entry.spot, depth - 1)


def setting_of(values: Values, name: str, entry: DictEntry, spot: Spot) -> Observed:
    """One argument as a setting: its value where that can be told, always its text and place."""
    source = entry.spot.module.source
    place = source.place(entry.key if hasattr(entry.key, "lineno") else entry.value or spot.scope.node)
    shown: ast.AST = entry.value if entry.value is not None else entry.key
    text = source.segment(shown)
    try:
        value = values.entry(entry)
    except CannotTell:
        return Observed.written(name, None, known=False, text=hide("", text), place=place)
    shown_value = clean(name, value)
    hidden = isinstance(value, str) and shown_value != value
    return Observed.written(
        name, shown_value, known=True, text=str(shown_value) if hidden else hide("", text), place=place
    )


def clean(name: str, value: Any) -> Any:
    """A literal value without the secrets that its name or its looks give away; paths stay usable."""
    if isinstance(value, str):
        return hide(name, value)
    if isinstance(value, dict):
        return {key: clean(str(key), each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(clean(name, each) for each in value)
    return value
