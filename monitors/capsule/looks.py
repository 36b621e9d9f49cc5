"""Looks into objects without running any code of theirs: no property, no `__getattr__`, no `__eq__`, no `__len__`.

What a name means is told as `inspect.getattr_static` tells it, and then read only where C itself reads it: the
instance's own dictionary, slots, and the descriptors listed here. Everything else is not told.
"""

from __future__ import annotations

import collections
import sys
import types
from collections.abc import Iterator
from itertools import islice
from typing import Any, Optional

#: what cannot be told without running somebody's code
UNTOLD: Any = type("Untold", (), {"__slots__": ()})()

#: types whose values are compared, hashed and computed with by C alone
NUMBERS = (int, float, bool)
PLAIN = (int, float, bool, str, bytes, type(None))

#: descriptors in C that copy nothing from a device and wait for none; of torch's tensors and numpy's arrays
_TENSOR_READS = frozenset(
    {"shape", "dtype", "device", "requires_grad", "is_leaf", "ndim", "layout", "is_sparse", "is_cuda", "is_meta",
     "is_quantized", "itemsize", "nbytes"}
)  # fmt: skip
_ARRAY_READS = frozenset({"shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes"})

#: entries of a dictionary that are looked at for one key: keys of any kind may lie between
_MOST_KEYS = 5_000

_mro_of = type.__dict__["__mro__"].__get__
_name_of_class = type.__dict__["__qualname__"].__get__
_module_of_class = type.__dict__["__module__"].__get__
_dict_of_class = type.__dict__["__dict__"].__get__


def mro(cls: type) -> tuple[type, ...]:
    """Classes in the order of resolution, whatever a metaclass pretends."""
    found: tuple[type, ...] = _mro_of(cls)
    return found


def class_name(cls: type) -> str:
    """`package.module.Class` as its own dictionary tells it."""
    name: Any = _name_of_class(cls)
    try:
        module: Any = _module_of_class(cls)
    except AttributeError:  # a class that hides its module
        module = ""
    if type(module) is not str or module in ("builtins", ""):
        return str(name)
    return f"{module}.{name}"


def one_of(cls: type, kinds: tuple[type, ...]) -> bool:
    """Whether a class is one of some; they are not compared, for a metaclass may compare by code of its own."""
    return any(cls is each for each in kinds)


def derives(value: Any, base: type) -> bool:
    """`isinstance` by the class itself, whatever the object says of its class."""
    return any(each is base for each in mro(type(value)))


def is_torch(value: Any, *names: str) -> bool:
    """Whether it is one of torch's own plain things: a dtype, a device, a size; not what only bears that name."""
    torch = sys.modules.get("torch")
    return torch is not None and any(type(value) is getattr(torch, each, None) for each in names)


def is_of(value: Any, *names: str) -> bool:
    """Whether an object is of a class, or of one derived from it, by the class's full name."""
    return any(class_name(each) in names for each in mro(type(value)))


def of_class(cls: type, name: str) -> Any:
    """What a class or one of its bases holds under a name; UNTOLD where none does."""
    for each in mro(cls):
        found = _dict_of_class(each).get(name, UNTOLD)
        if found is not UNTOLD:
            return found
    return UNTOLD


def own(value: Any) -> dict[str, Any]:
    """The dictionary of an instance; empty where it has none or where the class stands before it."""
    descriptor = of_class(type(value), "__dict__")
    if not one_of(type(descriptor), (types.GetSetDescriptorType, types.MemberDescriptorType)):
        return {}
    found = descriptor.__get__(value)
    return found if type(found) is dict else {}


def tensor_class() -> Optional[type]:
    """`torch._C.TensorBase`, where torch is imported."""
    found = getattr(sys.modules.get("torch._C"), "TensorBase", None) or getattr(
        sys.modules.get("torch._C"), "_TensorBase", None
    )
    return found if isinstance(found, type) else None


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch, of any subclass."""
    base = tensor_class()
    return base is not None and derives(value, base)


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy, of any subclass."""
    base = getattr(sys.modules.get("numpy"), "ndarray", None)
    return isinstance(base, type) and derives(value, base)


def attribute(value: Any, name: str) -> Any:
    """What `value.name` gives, where that can be told without running code; UNTOLD otherwise."""
    if is_tensor(value):
        return tensor_read(value, name)
    if is_array(value):
        return array_read(value, name)
    if derives(value, types.ModuleType):
        return own(value).get(name, UNTOLD)
    if derives(value, type):
        found = of_class(value, name)
        return UNTOLD if found is not UNTOLD and _is_descriptor(found) else found
    if is_of(value, "omegaconf.dictconfig.DictConfig"):
        return item(value, name)
    return _of_instance(value, name)


def _of_instance(value: Any, name: str) -> Any:
    cls = type(value)
    if type(of_class(cls, "__getattribute__")) is not types.WrapperDescriptorType:  # reads by rules of its own
        return UNTOLD
    found = of_class(cls, name)
    kind = type(found)
    if kind is types.MemberDescriptorType:
        try:
            return found.__get__(value)
        except AttributeError:
            return UNTOLD
    if found is not UNTOLD and of_class(kind, "__set__") is not UNTOLD:  # a property and the like: it comes first
        return UNTOLD
    mine = own(value)
    if name in mine:
        return mine[name]
    for place in ("_parameters", "_buffers", "_modules"):  # of torch's modules
        children: Any = mine.get(place)
        if one_of(type(children), (dict, collections.OrderedDict)) and name in children:
            return children[name]
    if found is UNTOLD or isinstance(found, types.FunctionType):
        return found
    return UNTOLD if _is_descriptor(found) else found


def _is_descriptor(value: Any) -> bool:
    return of_class(type(value), "__get__") is not UNTOLD


def tensor_read(value: Any, name: str) -> Any:
    """One of the allowed descriptors of a tensor, read below whatever a subclass has put over it."""
    base = tensor_class()
    if name not in _TENSOR_READS or base is None:
        return own(value).get(name, UNTOLD)
    descriptor = of_class(base, name)
    if type(descriptor) is not types.GetSetDescriptorType:
        return UNTOLD
    return below_subclasses(descriptor.__get__, value)


def below_subclasses(function: Any, *arguments: Any) -> Any:
    """Call a function of torch's own in C with the overrides of subclasses switched off."""
    core = sys.modules.get("torch._C")
    guard = getattr(core, "DisableTorchFunctionSubclass", None) or getattr(core, "DisableTorchFunction", None)
    if guard is None or any(_runs_python(each) for each in arguments):
        return UNTOLD
    try:
        with guard():
            return function(*arguments)
    except Exception:  # noqa: BLE001 - a tensor whose storage is gone, a mode that refuses
        return UNTOLD


#: subclasses of tensors that answer for their own shape in C
_KNOWN_TENSORS = frozenset(
    {"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer",
     "torch._subclasses.fake_tensor.FakeTensor", "torch.distributed.tensor.DTensor",
     "torch.distributed.tensor._api.DTensor", "torch.distributed._tensor.api.DTensor",
     "torch.distributed._functional_collectives.AsyncCollectiveTensor"}
)  # fmt: skip


def _runs_python(value: Any) -> bool:
    """Whether a tensor is of a subclass that may answer for its shape in Python."""
    if not is_tensor(value) or class_name(type(value)) in _KNOWN_TENSORS:
        return False
    names = {class_name(each) for each in mro(type(value))}
    if names & _KNOWN_TENSORS - {"torch.Tensor"}:
        return False
    dispatch = of_class(type(value), "__torch_dispatch__")
    return dispatch is not of_class(sys.modules["torch"].Tensor, "__torch_dispatch__")


def array_read(value: Any, name: str) -> Any:
    """One of the allowed descriptors of an array."""
    if name not in _ARRAY_READS:
        return UNTOLD
    found: Any = sys.modules["numpy"].ndarray.__dict__[name].__get__(value)
    return found


def length(value: Any) -> Optional[int]:
    """What `len` gives for a plain container, a tensor or an array, by the base class's own method; None otherwise."""
    if is_tensor(value) or is_array(value):
        shape = attribute(value, "shape")
        return int(shape[0]) if shape is not UNTOLD and len(shape) else None
    contents = inner(value)
    for base in (list, tuple, dict, str, bytes, bytearray, set, frozenset, collections.deque, range):
        if derives(contents, base):
            return int(base.__len__(contents))
    modules: Any = own(value).get("_modules")
    if one_of(type(modules), (dict, collections.OrderedDict)) and is_of(
        value, "torch.nn.modules.container.ModuleList", "torch.nn.modules.container.Sequential"
    ):
        return len(modules)
    return None


def inner(value: Any) -> Any:
    """The dictionary or list inside of a container written in Python; the value itself for all others."""
    if is_of(value, "collections.UserDict", "collections.UserList"):
        found = own(value).get("data", value)
        return found if one_of(type(found), (dict, list)) else value
    if is_of(value, "datasets.formatting.formatting.LazyDict"):  # a row: what was not asked for yet is no value
        found, left = own(value).get("data"), own(value).get("keys_to_format")
        if type(found) is dict and type(left) is set:
            return {key: each for key, each in found.items() if type(key) is str and key not in left}
    if is_of(value, "omegaconf.dictconfig.DictConfig", "omegaconf.listconfig.ListConfig"):
        found = own(value).get("_content", value)
        return found if one_of(type(found), (dict, list)) else value
    return value


def elements(value: Any, most: int) -> Iterator[Any]:
    """First elements of a plain sequence or set, by the base class's own method."""
    contents = inner(value)
    for base in (list, tuple, collections.deque, set, frozenset):
        if derives(contents, base):
            yield from (_unwrapped(each) for each in islice(base.__iter__(contents), most))
            return


def entries(value: Any, most: int) -> Iterator[tuple[Any, Any]]:
    """First entries of a dictionary, by the base class's own method."""
    contents = inner(value)
    if derives(contents, dict):
        for key, each in islice(dict.items(contents), most):
            yield key, _unwrapped(each)


def _unwrapped(value: Any) -> Any:
    """A value of OmegaConf's tree without its node."""
    if is_of(value, "omegaconf.nodes.ValueNode"):
        return own(value).get("_val", value)
    return value


def item(value: Any, key: Any) -> Any:
    """What `value[key]` gives for a plain container and a plain key; UNTOLD otherwise."""
    if type(key) is int:
        return _at(value, key)
    if type(key) is str and derives(inner(value), dict):
        for known, each in entries(value, _MOST_KEYS):
            if type(known) is str and known == key:
                return each
    return UNTOLD


def _at(value: Any, place: int) -> Any:
    contents = inner(value)
    for base in (list, tuple, str, range, collections.deque):
        if derives(contents, base):
            count = base.__len__(contents)
            return _unwrapped(base.__getitem__(contents, place)) if -count <= place < count else UNTOLD
    if derives(contents, dict):
        return next((each for key, each in entries(value, _MOST_KEYS) if type(key) is int and key == place), UNTOLD)
    modules: Any = own(value).get("_modules")
    if one_of(type(modules), (dict, collections.OrderedDict)):
        return next((each for number, each in enumerate(modules.values()) if number == place), UNTOLD)
    return UNTOLD
