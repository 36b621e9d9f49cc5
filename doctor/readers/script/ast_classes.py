"""Which calls of a script belong to the stack, and which of its classes a class of the user's derives from."""

from __future__ import annotations

import ast

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.facts.script import LocalClass
from doctor.readers.script.ast_names import CannotTell, Names, Spot
from doctor.readers.script.ast_settings import setting_of
from doctor.readers.script.ast_values import DictEntry, Values

#: classes are recorded wherever they come from (a re-export, a fork): the names say what they are
_CLASS = later(r"[A-Z]\w*(Config|ArgumentParser|Plugin)|([A-Z]\w*)?(Trainer|TrainingArguments)|TrlParser")
_NOT_OURS = frozenset({"ArgumentParser", "ConfigParser", "SafeConfigParser", "RawConfigParser"})
_NOT_OURS_ROOTS = frozenset(
    {"argparse", "configparser", "logging", "pydantic", "hydra", "lightning", "pytorch_lightning"}
)

#: functions and classes with other names, by the package that gives them
_MORE: dict[str, frozenset[str]] = {
    "vllm": frozenset({"LLM", "SamplingParams", "AsyncEngineArgs", "EngineArgs"}),
    "accelerate": frozenset({"Accelerator", "DeepSpeedPlugin"}),
    "deepspeed": frozenset({"initialize", "init_inference"}),
    "datasets": frozenset({"load_dataset", "load_from_disk", "from_json", "from_csv", "from_parquet"}),
    "peft": frozenset({"get_peft_model", "prepare_model_for_kbit_training"}),
    "torch": frozenset(
        {
            "FullyShardedDataParallel",
            "fully_shard",
            "GradScaler",
            "init_process_group",
            "Adam",
            "AdamW",
            "SGD",
            "Adafactor",
            "RMSprop",
        }
    ),
    "pytorch_lightning": frozenset({"DeepSpeedStrategy"}),
    "lightning": frozenset({"DeepSpeedStrategy"}),
    "lightning_fabric": frozenset({"DeepSpeedStrategy"}),
    "wandb": frozenset({"init", "login"}),
    "swanlab": frozenset({"init"}),
    "ray": frozenset({"init", "placement_group"}),
}
#: transformers has a configuration class per model; those that speak of precision and quantization are wanted
_TRANSFORMERS_CONFIGS = later(r"(BitsAndBytes|GPTQ|Awq|Hqq|Quanto|TorchAo|FineGrainedFP8|Mxfp4|Generation)Config")
_ANYWHERE = frozenset({
    "from_pretrained", "get_peft_model", "load_dataset", "FullyShardedDataParallel",
    "save_pretrained",  # a folder that the script writes itself is no repository of the hub
    # what decides whether a frozen model's inputs get gradients
    "gradient_checkpointing_enable", "enable_input_require_grads", "register_forward_hook", "requires_grad_",
})  # fmt: skip

PARSE_METHODS = frozenset(
    {"parse_args_and_config", "parse_args_into_dataclasses", "parse_json_file", "parse_yaml_file"}
)
_BASES = later(r"[A-Z]\w*Config|([A-Z]\w*)?(Trainer|TrainingArguments|ScriptArguments)")
_STACK_ROOTS = frozenset({"trl", "transformers", "peft", "accelerate", "unsloth", "swift"})


def is_recorded(origin: str) -> bool:
    """Whether a call of this full name is kept in `Script.calls`."""
    root, _, _ = origin.partition(".")
    name = origin.rpartition(".")[2]
    if name in _NOT_OURS or (root in _NOT_OURS_ROOTS and name not in _MORE.get(root, ())):
        return False
    if root == "transformers" and name.endswith("Config"):
        return _TRANSFORMERS_CONFIGS.fullmatch(name) is not None
    if _CLASS.fullmatch(name) or name in _ANYWHERE:
        return True
    return name in _MORE.get(root, frozenset())


class Classes:
    """Classes of the user's that derive from the stack's, found by name."""

    def __init__(self, names: Names, values: Values) -> None:
        self.names = names
        self.values = values
        self._known: dict[ast.ClassDef, LocalClass] = {}

    def local(self, node: ast.AST, spot: Spot) -> LocalClass | None:
        """The user's class that an expression names, None for a class from elsewhere."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        try:
            definition, at = self._definition(node, spot)
            return self._describe(definition, at)
        except (CannotTell, RecursionError):
            return None

    def _definition(self, node: ast.Name | ast.Attribute, spot: Spot) -> tuple[ast.ClassDef, Spot]:
        if isinstance(node, ast.Name):
            binding, at = self.names.binding(node.id, spot)
            if binding.imported:
                binding, at = self.names.exported(binding.imported, at)
        else:
            binding, at = self.names.exported(self.names.origin(node, spot), spot)
        if not isinstance(binding.value, ast.ClassDef):
            raise CannotTell
        return binding.value, at

    def _describe(self, definition: ast.ClassDef, spot: Spot) -> LocalClass:
        if definition in self._known:
            return self._known[definition]
        fields: dict[str, Observed] = {}
        required: list[str] = []
        base: str | None = None
        for each in definition.bases:
            inner = self.local(each, spot.at(spot.scope, definition.lineno))
            if inner is not None:
                fields = {**inner.fields, **fields}
                required += inner.required
                base = base or inner.base
            elif base is None:
                base = _stack_class(self.names.origin(each, spot))
        own = self._fields(definition, spot)
        fields.update(own)
        required = [name for name in required if name not in own] + _without_default(definition)
        place = spot.module.source.place(definition)
        self._known[definition] = found = LocalClass(definition.name, place, base, fields, tuple(required))
        return found

    def _fields(self, definition: ast.ClassDef, spot: Spot) -> dict[str, Observed]:
        found: dict[str, Observed] = {}
        inside = Spot(spot.module, spot.module.scopes[definition], definition.lineno, spot.depth)
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                default = _default(statement.value)
                entry = DictEntry(statement, default, inside)
                found[statement.target.id] = setting_of(self.values, statement.target.id, entry, inside)
        return found


def _default(value: ast.expr | None) -> ast.expr | None:
    """The default in `x: int = 3` and in `x: int = field(default=3)`, None for a factory or no default."""
    if isinstance(value, ast.Call):
        name = value.func.id if isinstance(value.func, ast.Name) else getattr(value.func, "attr", "")
        if name in {"field", "HfArg", "Field"}:
            return next((each.value for each in value.keywords if each.arg == "default"), None)
    return value


def _without_default(definition: ast.ClassDef) -> list[str]:
    """Fields of a dataclass that have neither a default nor a factory."""
    if not any("dataclass" in ast.unparse(each) for each in definition.decorator_list):
        return []
    found = []
    for each in definition.body:
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        if "ClassVar" in ast.unparse(each.annotation):
            continue
        if each.value is None or _is_field_without_default(each.value):
            found.append(each.target.id)
    return found


def _is_field_without_default(value: ast.expr) -> bool:
    """`field(metadata=...)`, whose keywords are all written out."""
    name = getattr(value.func, "id", getattr(value.func, "attr", "")) if isinstance(value, ast.Call) else ""
    keywords = {each.arg for each in value.keywords} if isinstance(value, ast.Call) else set()
    return name in {"field", "HfArg"} and not keywords & {"default", "default_factory", "init", None}


def _stack_class(origin: str) -> str | None:
    root, _, _ = origin.partition(".")
    name = origin.rpartition(".")[2]
    return name if _BASES.fullmatch(name) and (root in _STACK_ROOTS or "." in origin) else None
