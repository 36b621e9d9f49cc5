"""Objects as facts of bounded size: what they are, never what they hold for the user."""

from __future__ import annotations

import collections
import hashlib
import math
import re
import sys
import time
import types
from collections.abc import Iterator
from typing import Any, Optional

from doctor.base.redact import redact_text, redact_variable
from doctor.base.secret_names import is_secret_name
from doctor.monitors.capsule import looks
from doctor.monitors.capsule.looks import UNTOLD, attribute, class_name, is_of, own

Fact = dict[str, Any]

_MOST_ELEMENTS, _MOST_ENTRIES, _MOST_FIELDS = 5, 8, 60
_MOST_PARAMETERS = 50_000
_MOST_NAMED, _NAMES_S = 3, 0.2
_MOST_WRAPPERS = 5
_LONGEST, _LONGEST_HASHED = 80, 65_536

#: names under which the user's data goes about
_USERS = re.compile(
    r"(?i)(prompt|completion|response|answer|question|solution|content|message|text|sentence|document|conversation"
    r"|example|sample|row|record|ground_truth|instruction|chosen|rejected|generated|decoded|reply|query)"
)
#: text that is a name, a path or a number, and nobody's sentence
_NAME = re.compile(r"[\w./:@+\-=,\[\]%<>|*]{0,80}\Z", re.ASCII)


class Facts:
    """Turns objects into facts.

    Args:
        until_s: of the monotonic clock; what would take longer is left out.
        text: characters of the user's data that may be told, 0: none.

    """

    def __init__(self, until_s: float, text: int = 0) -> None:
        self._until_s, self._text = until_s, text
        self._modules: dict[int, Fact] = {}

    def of(self, value: Any, name: str = "", depth: int = 2) -> Fact:
        """Facts of an object.

        Args:
            value: the object.
            name: the expression that gave it: a secret's name keeps its value back, a prompt's name makes it data.
            depth: how deep containers are opened.

        """
        try:
            return self._of(value, name, depth)
        except Exception as error:  # noqa: BLE001 - one object costs itself, not the others
            return {"type": class_name(type(value)), "trouble": class_name(type(error))}

    def _of(self, value: Any, name: str, depth: int) -> Fact:
        cls = type(value)
        if looks.one_of(cls, (str, bytes, bytearray)):
            return self._text_of(value, name)
        if looks.one_of(cls, (int, float, bool, type(None), complex)):
            return {"type": cls.__name__, "value": _number(value)} if not self._secret(name) else _held(value)
        for knows, tell in _KINDS:
            if knows(value):
                found: Fact = tell(self, value, name, depth)
                return found
        return self._object(value, name, depth)

    def _secret(self, name: str) -> bool:
        return is_secret_name(re.split(r"[.\[\]'\"()]+", name.strip("'\"[]()"))[-1])

    def _text_of(self, value: Any, name: str) -> Fact:
        cls, told = type(value), {"type": type(value).__name__, "length": len(value)}
        if self._secret(name):
            return {"type": cls.__name__, "value": "set" if value else "unset"}
        if cls is str and _NAME.match(value) and not _USERS.search(name):
            return {**told, "value": redact_variable(name, value)}
        data = value[:_LONGEST_HASHED]
        data = data.encode("utf-8", "backslashreplace") if cls is str else bytes(data)
        told["sha256"] = hashlib.sha256(data).hexdigest()[:16]
        if self._text and cls is str:
            told["value"] = redact_text(value[: self._text])
        return told

    def _container(self, value: Any, name: str, depth: int) -> Fact:
        told: Fact = {"type": class_name(type(value)), "length": looks.length(value)}
        if depth <= 0:
            return told
        if looks.derives(looks.inner(value), dict):
            told["entries"] = [
                [self._key(key), self.of(each, f"{name}.{key}" if type(key) is str else name, depth - 1)]
                for key, each in looks.entries(value, _MOST_ENTRIES)
            ]
        elif looks.derives(value, collections.deque) or looks.length(value) is not None:
            told.update(_alike(value))
            if not (_USERS.search(name) and {*told.get("of", [])} & {"int", "float"}):  # ids of tokens are text, too
                told["first"] = [self.of(each, name, depth - 1) for each in looks.elements(value, _MOST_ELEMENTS)]
        return told

    def _key(self, key: Any) -> Any:
        if looks.one_of(type(key), (int, bool, type(None), float)):
            return _number(key)
        if type(key) is str:
            return redact_text(key) if _NAME.match(key) and len(key) <= 60 else self._text_of(key, "text")
        return {"type": class_name(type(key))}

    def _tensor(self, value: Any, name: str, depth: int) -> Fact:
        told: Fact = {"type": class_name(type(value)), "tensor": True}
        for each in ("shape", "dtype", "device", "requires_grad", "is_leaf", "layout"):
            read = attribute(value, each)
            if read is not UNTOLD:
                told[each] = _plain(read)
        stride = looks.below_subclasses(looks.of_class(looks.tensor_class() or type(value), "stride"), value)
        if type(stride) is tuple:
            told["stride"] = list(stride)
        spec = own(value).get("_spec")
        if spec is not None and "dtensor" in class_name(type(value)).lower():
            told.update(_placed(own(value), spec))
        return told

    def _array(self, value: Any, name: str, depth: int) -> Fact:
        dtype = attribute(value, "dtype")
        return {
            "type": class_name(type(value)), "tensor": True, "shape": list(attribute(value, "shape")),
            "dtype": type(dtype).__name__.replace("DType", "").lower(), "device": "cpu",
        }  # fmt: skip

    def _module(self, value: Any, name: str, depth: int) -> Fact:
        if id(value) not in self._modules:
            self._modules[id(value)] = self._counted(value)
        return self._modules[id(value)]

    def _counted(self, value: Any) -> Fact:
        """Class, wrapper, parameters by dtype and device."""
        count = grads = 0
        dtypes: dict[str, int] = {}
        devices: dict[str, int] = {}
        first: dict[str, list[str]] = {}
        tensors, whole = _tensors(value, time.monotonic, self._until_s), True
        for name, each, is_parameter in tensors:
            if name is None:
                whole = False
                break
            size = _size(attribute(each, "shape")) if is_parameter else 0
            count += size
            grads += size if is_parameter and attribute(each, "requires_grad") is True else 0
            for census, what in ((dtypes, "dtype"), (devices, "device")):
                if is_parameter or what == "device":
                    key = str(_plain(attribute(each, what)))
                    census[key] = census.get(key, 0) + 1
                    if len(first.setdefault(key, [])) < _MOST_NAMED:
                        first[key].append(name)
        apart = {
            key: first[key] for census in (dtypes, devices) for key in sorted(census, key=lambda one: -census[one])[1:]
        }
        return {
            "type": class_name(type(value)), "module": True, "parameters": count, "requires_grad": grads,
            "dtypes": dtypes, "devices": devices, "training": own(value).get("training"), "wraps": _wraps(value),
            **({"apart": apart} if apart else {}), **({} if whole else {"partial": True}),
        }  # fmt: skip

    def _dataclass(self, value: Any, name: str, depth: int) -> Fact:
        """The fields that differ from their defaults; None is told of all, for a missing value is what fails."""
        told: Fact = {"type": class_name(type(value)), "config": True}
        fields: Any = looks.of_class(type(value), "__dataclass_fields__")
        if type(fields) is not dict or depth <= 0:
            return told
        differs: dict[str, Fact] = {}
        defaults: dict[str, Fact] = {}
        for each, field in list(fields.items())[:400]:
            current = attribute(value, each)
            mine = own(field) or {}
            default = attribute(field, "default") if not mine else mine.get("default", UNTOLD)
            if type(each) is not str or current is UNTOLD:
                continue
            place = defaults if _same(current, default) else differs
            if len(place) < _MOST_FIELDS and (place is differs or looks.one_of(type(current), looks.PLAIN)):
                place[each] = self.of(current, f"{name}.{each}", 0)
        told["fields"] = differs
        told["defaults"] = {key: each for key, each in defaults.items() if _is_setting(each)}
        return told

    def _fields(self, value: Any, name: str, depth: int) -> Fact:
        """Plain fields of a configuration whose defaults nobody can tell."""
        told: Fact = {"type": class_name(type(value)), "config": True}
        if depth > 0:
            plain = {key: each for key, each in own(value).items() if type(key) is str and _is_plain(each)}
            told["fields"] = {key: self.of(plain[key], f"{name}.{key}", 0) for key in list(plain)[:_MOST_FIELDS]}
        return told

    def _object(self, value: Any, name: str, depth: int) -> Fact:
        told: Fact = {"type": class_name(type(value))}
        if depth > 0:
            mine = own(value)
            plain = [key for key, each in mine.items() if type(key) is str and key[:1] != "_" and _is_plain(each)]
            if plain:
                told["fields"] = {key: self.of(mine[key], f"{name}.{key}", 0) for key in plain[:12]}
        return told

    def _callable(self, value: Any, name: str, depth: int) -> Fact:
        told: Fact = {"type": class_name(type(value))}
        function = _FUNCTION_OF(value) if type(value) is types.MethodType else value
        for _ in range(_MOST_WRAPPERS):  # what `functools.wraps` was put around: the guard's own wrappers, too
            function = looks.own(function).get("__wrapped__", function)
        is_written = type(function) is types.FunctionType
        code = types.FunctionType.__dict__["__code__"].__get__(function) if is_written else None
        if code is not None:
            told.update(name=code.co_name, file=redact_text(code.co_filename), line=code.co_firstlineno)
        return told

    def _class(self, value: Any, name: str, depth: int) -> Fact:
        return {"type": "type", "name": class_name(value)}

    def _said(self, value: Any, name: str, depth: int) -> Fact:
        """What C writes of itself without asking anybody: a dtype, a device, a shape."""
        return {"type": class_name(type(value)), "value": _plain(value)}

    def _enum(self, value: Any, name: str, depth: int) -> Fact:
        mine = own(value)
        meant = mine.get("_value_")  # what a setting is written as: "steps", where the name is STEPS
        told = meant if type(meant) is str and _NAME.match(meant) else mine.get("_name_", "")
        return {"type": class_name(type(value)), "value": redact_text(str(told)[:60])}


def _is_container(value: Any) -> bool:
    contents = looks.inner(value)
    return any(looks.derives(contents, each) for each in (list, tuple, dict, set, frozenset, collections.deque, range))


_FUNCTION_OF: Any = types.MethodType.__dict__["__func__"].__get__
_CALLED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
#: kinds in the order in which an object is asked for them
_WITH_FIELDS = (
    "argparse.Namespace", "types.SimpleNamespace",
    "transformers.configuration_utils.PretrainedConfig", "transformers.configuration_utils.PreTrainedConfig",
)  # fmt: skip
_KINDS: tuple[tuple[Any, Any], ...] = (
    (looks.is_tensor, Facts._tensor),
    (looks.is_array, Facts._array),
    (lambda value: looks.is_torch(value, "dtype", "device", "Size", "layout"), Facts._said),
    (lambda value: looks.derives(value, type), Facts._class),
    (lambda value: looks.one_of(type(value), _CALLED), Facts._callable),
    (lambda value: is_of(value, "torch.nn.modules.module.Module"), Facts._module),
    (lambda value: is_of(value, "enum.Enum"), Facts._enum),
    (lambda value: is_of(value, *_WITH_FIELDS), Facts._fields),
    (lambda value: type(looks.of_class(type(value), "__dataclass_fields__")) is dict
     and not looks.derives(value, dict), Facts._dataclass),
    (_is_container, Facts._container),
)  # fmt: skip


def _held(value: Any) -> Fact:
    return {"type": type(value).__name__, "value": "unset" if value is None else "set"}


def _number(value: Any) -> Any:
    """A number as JSON knows it, whole; what is not finite, and what is longer than a screen's line, as text."""
    if type(value) is int and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    if type(value) is complex or (type(value) is float and not math.isfinite(value)):
        return str(value)
    return value


def _plain(value: Any) -> Any:
    if looks.is_torch(value, "Size") or looks.one_of(type(value), (tuple, list)):
        return [int(each) if type(each) is int else str(class_name(type(each))) for each in value[:16]]
    if looks.one_of(type(value), (bool, int, type(None))):
        return value
    return str(value) if looks.is_torch(value, "dtype", "device", "layout") else UNKNOWN


UNKNOWN = "?"


def _size(shape: Any) -> int:
    count = 1
    for each in shape if shape is not UNTOLD else (0,):
        count *= each if type(each) is int else 0
    return count


def _alike(value: Any) -> Fact:
    """Of a list longer than what is shown: whether its elements are of one type, and the lengths that differ."""
    contents = list(looks.elements(value, 256))
    kinds = {class_name(type(each)) for each in contents}
    told: Fact = {"of": sorted(kinds)[:5]} if kinds else {}
    sizes = [looks.length(each) for each in contents if looks.one_of(type(each), (list, tuple, dict, str))]
    if sizes and len(sizes) == len(contents) and len({*sizes}) > 1:
        told["lengths"] = sizes[:16]
    return told


def _items(children: Any) -> list[tuple[str, Any]]:
    plain = looks.one_of(type(children), (dict, collections.OrderedDict))
    return [(key, each) for key, each in children.items() if type(key) is str] if plain else []


def _tensors(value: Any, now: Any, until_s: float) -> Iterator[tuple[Optional[str], Any, bool]]:
    """(name, tensor, is it a parameter) of a module in the order of `named_parameters`; name None where it is cut."""
    seen: set[int] = set()
    left: list[tuple[str, Any]] = [("", value)]
    while left:
        if len(seen) >= _MOST_PARAMETERS or now() > until_s:
            yield None, None, False
            return
        prefix, module = left.pop()
        mine = own(module)
        for place in ("_parameters", "_buffers"):
            for name, each in _items(mine.get(place)):
                if each is not None and id(each) not in seen and looks.is_tensor(each):
                    seen.add(id(each))
                    yield prefix + name, each, place == "_parameters"
        inside = [(f"{prefix}{name}.", each) for name, each in _items(mine.get("_modules")) if id(each) not in seen]
        seen.update(id(each) for _, each in inside)
        left += [pair for pair in reversed(inside) if pair[1] is not None]


def parameters_at(module: Any, indices: list[int]) -> list[str]:
    """Names of parameters by their place among those that DDP reduces: trainable ones, in the order of registration.

    https://github.com/pytorch/pytorch/blob/v2.6.0/torch/nn/parallel/distributed.py (_build_params_for_reducer)
    """
    if not is_of(module, "torch.nn.parallel.distributed.DistributedDataParallel"):
        return []
    inside: Any = dict(_items(own(module).get("_modules"))).get("module")
    names: list[str] = []
    for name, each, is_parameter in _tensors(inside, time.monotonic, time.monotonic() + _NAMES_S):
        if name is None:
            break
        if is_parameter and attribute(each, "requires_grad") is True:
            names.append(name)
    return [names[each] for each in indices if each < len(names)]


def _wraps(value: Any) -> list[str]:
    """Classes inside of wrappers: DistributedDataParallel, FullyShardedDataParallel, PEFT's, DeepSpeed's engine."""
    found: list[str] = []
    inside: Any = value
    while len(found) < 5:
        children = own(inside).get("_modules")
        known = [name for name in ("module", "_fsdp_wrapped_module", "_orig_mod", "base_model") if children]
        inside = next((children[name] for name in known if name in children), None) if children else None
        if inside is None:
            break
        found.append(class_name(type(inside)))
    return found


def _placed(mine: dict[str, Any], spec: Any) -> Fact:
    """How a DTensor is spread: placements, mesh and the shape of this rank's shard."""
    told: Fact = {}
    placements = attribute(spec, "placements")
    if type(placements) is tuple:
        told["placements"] = [
            f"{class_name(type(each)).rpartition('.')[2]}({attribute(each, 'dim')})"
            if type(attribute(each, "dim")) is int
            else class_name(type(each)).rpartition(".")[2]
            for each in placements[:4]
        ]
    local = mine.get("_local_tensor")
    shape = attribute(local, "shape") if looks.is_tensor(local) else UNTOLD
    if shape is not UNTOLD:
        told["shard"] = _plain(shape)
    return told


def _is_plain(value: Any) -> bool:
    return looks.one_of(type(value), looks.PLAIN) or looks.is_torch(value, "dtype", "device")


def _is_setting(fact: Fact) -> bool:
    return fact.get("type") in ("int", "float", "bool", "NoneType") or "value" in fact


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and looks.one_of(type(value), looks.PLAIN) and value == default


def imported(name: str) -> Optional[types.ModuleType]:
    """A module that the program imported already; nothing is imported here."""
    found = sys.modules.get(name)
    return found if type(found) is types.ModuleType else None
