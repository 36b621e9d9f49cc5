"""The classes, functions and constants of a release, and what its validators refuse."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from newpython import parse

from doctor.readers.script.follow import Code, FollowedState, Root, Walk, fields_of
from doctor.readers.script.formulas import Expr, names

Rule = tuple[Expr, str, str]  # condition, exception, place
_PYDANTIC = {"model_validator", "root_validator"}
_ABSENT = object()


@dataclass
class Module:
    """What one file defines; plain values by name."""

    path: str
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    main: list[ast.stmt] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=4000)
def module_of(path: str, text: str) -> Module:
    """Read one file."""
    made, tree = Module(path), parse(text, path)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            made.classes[node.name] = node
        elif isinstance(node, ast.FunctionDef):
            node.path = path  # type: ignore[attr-defined]
            made.functions[node.name] = node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = literal(node.value)
            if value is not _ABSENT:
                made.constants[node.targets[0].id] = value
        elif isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            made.main = node.body
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            made.arguments.update(_argument(node))
    return made


def literal(node: ast.expr | None) -> Any:
    """A plain value as data, a sequence as `["l", ...]`; `_ABSENT` for anything else."""
    if node is None:
        return _ABSENT
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return _ABSENT
    if isinstance(value, (list, tuple, set, frozenset)):
        listed = sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)
        return (
            ["l", *listed] if all(isinstance(each, (str, int, float, bool, type(None))) for each in listed) else _ABSENT
        )
    return value if isinstance(value, (str, int, float, bool, type(None))) else _ABSENT


def _argument(call: ast.Call) -> dict[str, Any]:
    """Name and default of an option of argparse; several words are one option under its first long name."""
    words = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    keywords = {each.arg: each.value for each in call.keywords}
    long = next((each for each in words if each.startswith("--")), words[0] if words else None)
    named = literal(keywords.get("dest"))
    name = named if isinstance(named, str) else long.lstrip("-").replace("-", "_") if long else None
    if name is None:
        return {}
    action = literal(keywords.get("action"))
    default = literal(keywords["default"]) if "default" in keywords else None
    if "default" not in keywords and action in ("store_true", "store_false"):
        default = action == "store_false"
    return {name: default}


class Release:
    """All files of a release that are read together."""

    def __init__(self, files: Mapping[str, str], altered: Iterable[str] = (), *, enums: str = "values") -> None:
        self.modules = [module_of(path, text) for path, text in sorted(files.items())]
        self.classes = {name: (node, each) for each in self.modules for name, node in each.classes.items()}
        self.functions = {name: node for each in self.modules for name, node in each.functions.items()}
        self.constants = {name: value for each in self.modules for name, value in each.constants.items()}
        self._named_enums = enums == "names"
        self.enums = dict(self._enumerations())
        self.altered = frozenset(altered)

    def _enumerations(self) -> Iterator[tuple[str, Any]]:
        for name, (node, _) in self.classes.items():
            if any("Enum" in ast.dump(base) for base in node.bases):
                for each in node.body:
                    if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                        value = literal(each.value)
                        member = each.targets[0].id
                        if isinstance(value, (str, int)):
                            yield f"{name}.{member}", member if self._named_enums else value

    def bases(self, name: str) -> list[str]:
        """A class and its bases of this package, nearest first, as Python resolves them nearly enough."""
        found, todo = [], [name]
        while todo:
            each = todo.pop(0)
            if each in self.classes and each not in found:
                found.append(each)
                node = self.classes[each][0]
                todo += [getattr(base, "id", getattr(base, "attr", "")) for base in node.bases]
        return found

    def methods(self, name: str) -> dict[str, ast.FunctionDef]:
        """Methods of a class and its bases."""
        found: dict[str, ast.FunctionDef] = {}
        for each in self.bases(name):
            node, module = self.classes[each]
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name not in found:
                    part.path = module.path  # type: ignore[attr-defined]
                    found[part.name] = part
        return found

    def code(self, name: str | None = None) -> Code:
        """What a walk through a class or a function needs."""
        code = Code(self.functions, self.methods(name) if name else {}, self.constants, self.enums, self.altered)
        code.classes = {each: self.methods(each) for each in (self.bases(name) if name else ())}
        return code

    def defaults(self, name: str, prefix: str = "") -> dict[str, Any]:
        """Defaults of the fields of a class and of the classes that its fields hold, by dotted name."""
        found: dict[str, Any] = {}
        for field_name, default, annotation in self._fields(name):
            key = f"{prefix}{field_name}"
            inner = self._class_in(annotation)
            value = literal(_default_of(default))
            if value is not _ABSENT:
                found.setdefault(key, value)
            if inner is not None and prefix.count(".") < 4:
                found.update({each: one for each, one in self.defaults(inner, f"{key}.").items() if each not in found})
        return found

    def _fields(self, name: str) -> Iterator[tuple[str, ast.expr | None, ast.expr]]:
        seen = set()
        for each in self.bases(name):
            for field_name, default, annotation in fields_of(self.classes[each][0]):
                if field_name not in seen:
                    seen.add(field_name)
                    yield field_name, default, annotation

    def _class_in(self, annotation: ast.expr) -> str | None:
        """The only class of this package that an annotation names; a list or a mapping of it is none."""
        text = ast.unparse(annotation)
        if any(each in text for each in ("list[", "List[", "dict[", "Dict[", "Sequence[")):
            return None
        words = {each.id for each in ast.walk(annotation) if isinstance(each, ast.Name)}
        found = [
            each for each in words if each in self.classes and not any(key.startswith(f"{each}.") for key in self.enums)
        ]
        return found[0] if len(found) == 1 else None

    def places(self, root: str, prefix: str = "", filled: bool = False) -> Iterator[tuple[str, str, bool]]:
        """(class, prefix, whether a class above fills it in) of a class and of those that its fields hold."""
        yield root, prefix, filled
        filled = filled or any(
            _is_before(each) for method in self.methods(root).values() for each in method.decorator_list
        )
        for name, _, annotation in self._fields(root):
            inner = self._class_in(annotation)
            if inner is not None and inner != root and prefix.count(".") < 4:
                yield from self.places(inner, f"{prefix}{name}.", filled)

    # what is refused

    def of_class(self, name: str, prefix: str = "", method: str = "__post_init__", filled: bool = False) -> list[Rule]:
        """What the initializer of a class refuses, and its validators of pydantic."""
        methods = self.methods(name)
        rules: list[Rule] = []
        if method in methods:
            function = methods[method]
            walk = Walk(self.code(name), function.path)  # type: ignore[attr-defined]
            walk.within(function)
            walk.follow(function.body, FollowedState({"self": Root(prefix, filled=filled)}))
            rules += walk.raised
        after = FollowedState()
        for each in methods.values():
            rules += self._of_validator(name, each, Root(prefix, filled=filled), after)
        return rules

    def _of_validator(self, name: str, function: ast.FunctionDef, root: Root, after: FollowedState) -> list[Rule]:
        """A validator of all fields: `mode="before"` sees what was written alone."""
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if getattr(called, "id", getattr(called, "attr", "")) not in _PYDANTIC:
                continue
            before = _is_before(decorator)
            parameters = [each.arg for each in function.args.args]
            walk = Walk(self.code(name), function.path)  # type: ignore[attr-defined]
            if before:
                state = FollowedState({parameters[-1]: Root(root.prefix, not root.filled, root.filled)})
            else:
                after.variables = {parameters[0]: root}
                state = after
            walk.follow(function.body, state)
            return walk.raised
        return []

    def of_function(
        self, name: str, roots: Mapping[str, str], owner: str | None = None, raw: bool = False
    ) -> list[Rule]:
        """What a function (or a method of a class) refuses; `roots`: its objects of settings with their prefixes."""
        function = self.methods(owner).get(name) if owner else self.functions.get(name)
        if function is None:
            return []
        walk = Walk(self.code(owner), function.path)  # type: ignore[attr-defined]
        walk.follow(function.body, FollowedState({each: Root(prefix, raw) for each, prefix in roots.items()}))
        return walk.raised

    def of_model_types(self) -> dict[str, tuple[dict[str, Any], list[Rule]]]:
        """(defaults, rules) of each configuration of a model by its `model_type`: its parameters are the settings."""
        found = {}
        for name, (node, _) in self.classes.items():
            kind = next((literal(each.value) for each in node.body if _assigns(each, "model_type")), None)
            function = self.methods(name).get("__init__")
            if not isinstance(kind, str) or not kind or function is None:
                continue
            given = dict(_parameters(function))
            walk = Walk(self.code(name), function.path)  # type: ignore[attr-defined]
            walk.within(function)
            walk.follow(function.body, FollowedState({"self": Root(), **{each: ["n", each] for each in given}}))
            defaults = {each: literal(default) for each, default in given.items()}
            kept = {each: value for each, value in defaults.items() if value is not _ABSENT}
            found[kind] = (kept, walk.raised + self.of_class(name))
        return found

    def of_main(self, module: Module) -> list[Rule]:
        """What a program refuses behind its parser."""
        code = self.code()
        code.functions = module.functions
        walk = Walk(code, module.path)
        walk.follow(module.main, FollowedState({"args": Root()}))
        return walk.raised


def _is_before(decorator: ast.expr) -> bool:
    """Whether a decorator of pydantic has its validator run before the fields are made."""
    text = ast.unparse(decorator)
    return "validator" in text and ("before" in text or "pre=True" in text)


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name


def _parameters(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """(name, default) of the parameters behind `self`."""
    listed = function.args.args[1:]
    missing = [None] * (len(listed) - len(function.args.defaults))
    yield from zip((each.arg for each in listed), [*missing, *function.args.defaults], strict=False)
    yield from zip((each.arg for each in function.args.kwonlyargs), function.args.kw_defaults, strict=True)


def _default_of(node: ast.expr | None) -> ast.expr | None:
    """The default itself, or that of `field(default=...)` and `Field(...)`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("field", "Field"):
        given = next((each.value for each in node.keywords if each.arg == "default"), None)
        listed = node.args[0] if node.args and not isinstance(node.args[0], ast.Constant) else None
        first = node.args[0] if node.args else listed
        return given if given is not None else first
    return node


def asked(rules: Iterable[Rule]) -> set[str]:
    """Settings that rules ask for."""
    return {name for condition, _, _ in rules for name in names(condition)}
