"""Puts a `Script` together from the syntax tree: calls of the stack, parsers, reward functions, variables, comments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from doctor.base.evidence import UNKNOWN, Observed, Place
from doctor.base.fact import BrokenFile
from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.facts.rows import Rows
from doctor.facts.script import Call, Link, LocalClass, LoneCall, RewardFunction, Script
from doctor.readers.script import argparse_flags
from doctor.readers.script.ast_classes import PARSE_METHODS, Classes, is_recorded
from doctor.readers.script.ast_links import Links
from doctor.readers.script.ast_names import CannotTell, Names, Project, Spot
from doctor.readers.script.ast_scopes import AttributeChange, CallSite, Module, NameScope, walk
from doctor.readers.script.ast_settings import arguments_of, setting_of
from doctor.readers.script.ast_values import DictEntry, Values
from doctor.readers.script.flow.absent_columns import column_read_absent
from doctor.readers.script.flow.late_variables import late_variables
from doctor.readers.script.idioms import idioms_between, idioms_in, noted
from doctor.readers.script.ignores import read_ignores
from doctor.readers.script.own_refusals import own_refusals
from doctor.readers.script.python_source import ParsedFile, parse
from doctor.readers.script.rank_branches import RankBranches
from doctor.readers.script.reward_functions import RewardFunctions
from doctor.readers.script.row_columns import RowColumns

#: arguments whose origin is worth following
_LINKED = frozenset({
    "args", "config", "model", "ref_model", "peft_config", "train_dataset", "eval_dataset", "processing_class",
    "tokenizer", "quantization_config", "lora_config", "training_args",
})  # fmt: skip
_PLAIN = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.JoinedStr, ast.List, ast.Tuple)
_NEIGHBOURS_BYTES = 512 << 10  # looked through for calls of the stack; one that a name leads to may be larger
_MAY_CONFIGURE = later(rb"(Config|Trainer|TrainingArguments|from_pretrained|load_dataset)\(")
_END = 10**9  # behind the last line of a module
_OF_FILES = frozenset({"parse_json_file", "parse_yaml_file", "parse_dict"})
_OF_COMMAND_LINE = frozenset({"parse_args_into_dataclasses", "parse_args_and_config"})
_ENVIRON = frozenset({"os.environ", "environ"})


@record
class Started:
    """How a command starts a script: the folder in which it runs, and the words behind the script."""

    cwd: str
    words: Sequence[str] = ()


def read(path: str, content: bytes, folder: str | None = None, started: Started | None = None) -> Script:
    """Read a script from its bytes.

    Args:
        path: of the file, for places.
        content: of it.
        folder: that of the modules beside it, the file's own by default.
        started: by what command; without it, files that the script opens are not read.

    """
    parsed = parse(content, path)
    if isinstance(parsed, BrokenFile):
        return Script(path, broken=parsed)
    try:
        return _Reader(parsed, folder, started).read()
    except RecursionError:
        broken = BrokenFile(Place(path), "nested too deeply to be read")
        return Script(path, broken=broken)


class _Reader:
    """One script with the modules beside it."""

    def __init__(self, source: ParsedFile, folder: str | None, started: Started | None) -> None:
        self.source = source
        self.whole = started is not None
        self.module = walk(source)
        self.project = Project(folder if folder is not None else str(Path(source.path).parent), walk)
        self.names = Names(self.project)
        self.values = Values(self.names, started.cwd if started is not None else None)
        options = argparse_flags.FlagValues(self.module, self.values, started.words if started else None)
        self.values.option, self.values.word = options, options.word
        self.classes = Classes(self.names, self.values)
        self.links = Links(self.values, self.recorded, self.parsed_classes)
        self.row_columns = RowColumns(self.values)
        self.parsers: list[tuple[str, tuple[str, ...]]] = []
        self.local: dict[str, LocalClass] = {}

    def read(self) -> Script:
        self._open_neighbours()
        calls = self._calls(self.module)
        for module in list(self.project.modules.values()):
            calls += self._calls(module)
        flags, flags_variable = argparse_flags.read(self.module, self.values)
        return Script(
            path=self.source.path,
            imports={each.dotted: self.source.place(each.node) for each in reversed(self.module.imports)},
            needs=self._needs(),
            calls=tuple(calls),
            reward_functions=tuple(self._rewards()),
            parses_arguments_into=self.parsers[0][1] if self.parsers else (),
            environment_set=self._environment(),
            names=self._names(),
            ignores=read_ignores(self.source.text),
            parser=self.parsers[0][0] if self.parsers else None,
            reads_config=any(_method(site.node) == "parse_args_and_config" for site in self.module.calls),
            reads_command_line=len(self.parsers) == 1 and _reads_command_line(self.module.calls),
            looks_at_words="sys.argv" in self.source.text
            or any(_method(site.node) in _OF_FILES for site in self.module.calls),
            tolerates_unknown=any(map(_tolerates_unknown, self.module.calls)),
            classes=self.local,
            flags=flags,
            flags_variable=flags_variable,
            lone_calls=tuple(self._lone_calls()),
            own_refusals=own_refusals(self.source.tree, self.source.path) if flags else (),
            idioms=self._idioms(),
            opens_broken=tuple(self.values.files.broken.values()),
            repeated_keys=tuple(self.values.files.repeated_keys),
        )

    def _idioms(self) -> dict[str, Observed]:
        """Idioms of the script and of the modules beside it that it imports."""
        for each in self.module.imports:
            self.project.find(each.dotted)
        sources = (self.source, *(each.source for each in self.project.modules.values()))
        found: dict[str, Observed] = {}
        for source in sources:
            found = {**idioms_in(source, whole=self.whole), **found}
        between = idioms_between(sources) if self.whole else {}
        return {**between, **self._columns_absent(), **found}

    def _columns_absent(self) -> dict[str, Observed]:
        """The first column that a mapped function reads of rows that do not have it."""
        if "load_dataset" not in self.source.text:
            return {}
        for site in self.module.calls:
            if _method(site.node) in {"map", "filter"}:
                self.row_columns.of(site.node, Spot(self.module, site.scope, site.node.lineno))
        for node, column, columns, module in self.row_columns.absent[:1]:
            met = column_read_absent(node, column, columns)
            return {met.id: noted(met.id, module.source, met.holes, met.node)}
        return {}

    def _needs(self) -> dict[str, Place]:
        """Imports that run whenever the script does: its own at the top, and those of modules beside it in turn."""
        found: dict[str, Place] = {}
        left, seen = [self.module], set()
        while left:
            module = left.pop(0)
            if id(module) in seen:
                continue
            seen.add(id(module))
            statements = module.source.tree.body
            first = [each for each in statements if isinstance(each, (ast.Import, ast.ImportFrom))]
            at_top = {id(alias) for each in first for alias in each.names}
            for each in module.imports:
                if id(each.node) not in at_top:
                    continue
                left += self._beside(each.dotted, relative=module is self.module)
                if not each.dotted.startswith("."):
                    found.setdefault(each.dotted, module.source.place(each.node))
        return found

    def _beside(self, dotted: str, *, relative: bool) -> list[Module]:
        """Modules beside the script that an import runs, of those that were read for their calls."""
        if dotted.startswith(".") and not relative:
            return []  # in a package of its own
        name = dotted.lstrip(".")
        modules = self.project.modules
        return [modules[each] for each in (name, name.rpartition(".")[0]) if each in modules]

    def _open_neighbours(self) -> None:
        """Read modules beside the script that hold calls of the stack; others are read when a name leads there."""
        left = _NEIGHBOURS_BYTES
        for each in self.module.imports:
            head, _, _ = each.dotted.rpartition(".")
            dotted = head.strip(".") or each.dotted.strip(".")
            content = self.project.peek(dotted, left)
            left -= len(content)
            if _MAY_CONFIGURE.search(content):
                self.project.module(dotted)

    # --- calls ------------------------------------------------------------------------------------------------

    def recorded(self, node: ast.Call, spot: Spot) -> bool:
        """Whether a call is one of the stack's, or of a class of the user's that derives from one."""
        origin = self.origin(node, spot)
        if is_recorded(origin) or self._is_engine_sleep(node, origin):
            return True
        local = self.classes.local(node.func, spot) if origin.rpartition(".")[2][:1].isupper() else None
        return local is not None and local.base is not None

    def _is_engine_sleep(self, node: ast.Call, origin: str) -> bool:
        """`llm.sleep(level=2)`: of vLLM's engine alone `sleep` has a level; `llm.sleep(2)` counts of a known engine."""
        owner, _, method = origin.rpartition(".")
        if method != "sleep" or not owner or self._imports_root(owner):
            return False
        return any(each.arg == "level" for each in node.keywords) or owner in self._engines

    def _imports_root(self, dotted: str) -> bool:
        return any(each.dotted.partition(".")[0] == dotted.partition(".")[0] for each in self.module.imports)

    @cached_property
    def _engines(self) -> frozenset[str]:
        """Variables that hold an engine of vLLM."""
        found = set()
        for site in self.module.calls:
            target = self.module.targets.get(site.node)
            origin = self.origin(site.node, Spot(self.module, site.scope, site.node.lineno))
            if target and origin.partition(".")[0] == "vllm":
                found.add(target)
        return frozenset(found)

    def origin(self, node: ast.Call, spot: Spot) -> str:
        """Full name of what is called; the last part alone when what stands before it is no name."""
        return self.names.origin(node.func, spot) or str(getattr(node.func, "attr", ""))

    def _calls(self, module: Module) -> list[Call]:
        trained = self._trained(module)
        changes = _attribute_changes(module)
        entered = self._entered(module)
        found = []
        for site in sorted(module.calls, key=lambda each: (each.node.lineno, each.node.col_offset)):
            spot = Spot(module, site.scope, site.node.lineno)
            if module is not self.module and site.node in module.guarded:
                continue  # does not run when the module is imported
            if entered is not None and _outermost(site.scope) not in {None, *entered}:
                continue  # stands in a function that nobody calls
            if self.recorded(site.node, spot):
                found.append(self._call(site, spot, changes, trained))
        return found

    def _entered(self, module: Module) -> set[str] | None:
        """Functions and classes of a module beside the script that what is imported from it leads to; None for all.

        A script that takes a prompt or a helper from `train.py` does not train.
        """
        names = [name for name, each in self.project.modules.items() if each is module]
        wanted: set[str] = set()
        for other in (self.module, *self.project.modules.values()):
            for name in names:
                if name in (each.lstrip(".") for each in other.star_imports):
                    return None
            for each in other.imports:
                head, _, last = each.dotted.lstrip(".").rpartition(".")
                if each.dotted.lstrip(".") in names:
                    return None
                wanted |= {last} if head in names else set()
        return _reached(module, wanted) if module is not self.module and wanted else None

    def _call(
        self,
        site: CallSite,
        spot: Spot,
        changes: dict[str, list[AttributeChange]],
        trained: dict[Place, Observed | None],
    ) -> Call:
        node, origin = site.node, self.origin(site.node, spot)
        name = origin.rpartition(".")[2]
        local = self.classes.local(node.func, spot)
        base = local.base if local is not None and local.base else name
        if local is not None:
            self.local[name] = local
        arguments = arguments_of(self.values, node, base, spot)
        place = spot.module.source.place(node)
        target = spot.module.targets.get(node)
        later, hidden = self._set_later(target, site, spot, changes) if target else ({}, False)
        if base.endswith("Parser") and "dataclass_types" in arguments.nodes:
            self._note_parser(name, arguments.nodes["dataclass_types"])
        return Call(
            name=name,
            place=place,
            origin=origin,
            arguments={**arguments.settings, **later},
            has_star_kwargs=arguments.hidden or hidden,
            assigned_to=target,
            base=base,
            nested=arguments.nested,
            links=self._links_of(arguments.nodes),
            trains=place in trained,
            resumes=trained.get(place),
            rows=self._rows(base, arguments.nodes),
            conditional=site.conditional,
            set_later=frozenset(later),
        )

    def _rows(self, base: str, nodes: dict[str, tuple[ast.expr, Spot]]) -> Rows | None:
        given = nodes.get("train_dataset") if base.endswith("Trainer") else None
        return self.row_columns.of(*given) if given is not None else None

    def _links_of(self, nodes: dict[str, tuple[ast.expr, Spot]]) -> dict[str, Link]:
        found = {}
        for name, (node, spot) in nodes.items():
            link = self.links.link(node, spot) if name in _LINKED else None
            if link is not None:
                found[name] = link
        return found

    def _set_later(
        self, target: str, site: CallSite, spot: Spot, changes: dict[str, list[AttributeChange]]
    ) -> tuple[dict[str, Observed], bool]:
        """`config.bf16 = True` after `config = GRPOConfig(...)`, and whether names were set that are not seen."""
        found: dict[str, Observed] = {}
        hidden = False
        for change in changes.get(target, []):
            if change.scope is not site.scope or getattr(change.node, "lineno", 0) <= site.node.lineno:
                continue
            if isinstance(change.key, str):
                found[change.key] = self.links.change_setting(change, spot)
            else:
                hidden = True
        return found, hidden

    def _trained(self, module: Module) -> dict[Place, Observed | None]:
        """Places of the calls on whose result `.train()` is called, and the checkpoint it is to go on from."""
        found: dict[Place, Observed | None] = {}
        for site in module.calls:
            if _method(site.node) == "train" and isinstance(site.node.func, ast.Attribute):
                spot = Spot(module, site.scope, site.node.lineno)
                link = self.links.link(site.node.func.value, spot)
                if link is not None and link.sure:
                    given = arguments_of(self.values, site.node, "train", spot).settings
                    resumes = given.get("resume_from_checkpoint")
                    branch = resumes is not None and site.conditional
                    found[link.place] = replace(resumes, value=UNKNOWN) if resumes and branch else resumes
        return found

    # --- arguments parsers ------------------------------------------------------------------------------------

    def _note_parser(self, name: str, types: tuple[ast.expr, Spot]) -> None:
        classes = self._class_names(*types)
        if classes:
            self.parsers.append((name, classes))

    def _class_names(self, node: ast.expr | None, spot: Spot) -> tuple[str, ...]:
        """Names of the classes in `(ScriptArguments, GRPOConfig)`, after imports; empty when not seen."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._class_name(each, spot) for each in node.elts)
        if isinstance(node, ast.Name):
            try:
                binding, at = self.names.binding(node.id, spot)
            except CannotTell:
                return ()
            if isinstance(binding.value, (ast.Tuple, ast.List)):
                return self._class_names(binding.value, at)
            if binding.imported or isinstance(binding.value, ast.ClassDef):
                return (self._class_name(node, spot),)
        return (self._class_name(node, spot),) if isinstance(node, ast.Attribute) else ()

    def _class_name(self, node: ast.expr, spot: Spot) -> str:
        local = self.classes.local(node, spot)
        if local is not None:
            self.local[local.name] = local
            return local.name
        return self.names.origin(node, spot).rpartition(".")[2]

    def parsed_classes(self, node: ast.Call, spot: Spot) -> tuple[str, ...]:
        """Classes that a call such as `parser.parse_args_and_config()` gives, empty when it is no such call."""
        if not isinstance(node.func, ast.Attribute):
            return ()
        inline = node.func.value
        if isinstance(inline, ast.Call) and _parser_types(inline) is not None:
            return self._class_names(_parser_types(inline), spot)
        found = [each for each in map(self._filled_by, self._parser_sites(spot.module)) if each]
        return found[0] if len(set(found)) == 1 else ()

    def _parser_sites(self, module: Module) -> Iterator[tuple[ast.Call, Spot]]:
        for site in module.calls:
            spot = Spot(module, site.scope, site.node.lineno)
            name = self.origin(site.node, spot).rpartition(".")[2]
            if name.endswith("Parser") and is_recorded(name):
                yield site.node, spot

    def _filled_by(self, parser: tuple[ast.Call, Spot]) -> tuple[str, ...]:
        types = _parser_types(parser[0])
        return self._class_names(types, parser[1]) if types is not None else ()

    # --- the rest ---------------------------------------------------------------------------------------------

    def _rewards(self) -> Iterator[RewardFunction]:
        reader = RewardFunctions(self.names)
        seen = set()
        for module in (self.module, *self.project.modules.values()):
            for site in module.calls:
                spot = Spot(module, site.scope, site.node.lineno)
                name = self.origin(site.node, spot).rpartition(".")[2]
                if not name.endswith("Trainer") or (module is not self.module and site.node in module.guarded):
                    continue
                nodes = arguments_of(self.values, site.node, name, spot).nodes
                for each in reader.of(*nodes["reward_funcs"]) if "reward_funcs" in nodes else ():
                    if each.place not in seen:
                        seen.add(each.place)
                        yield each

    def _lone_calls(self) -> Iterator[LoneCall]:
        for module in (self.module, *self.project.modules.values()):
            spot = Spot(module, module.scope, _END)
            yield from RankBranches(module, self.names, spot).lone_calls()

    def _environment(self) -> dict[str, Observed]:
        found: dict[str, Observed] = {}
        for change in self.module.changes:
            if change.base in _ENVIRON and not change.attribute and isinstance(change.key, ast.AST):
                spot = Spot(self.module, change.scope, getattr(change.node, "lineno", 0))
                self._set_variable(found, change.key, change.value, spot, conditional=change.conditional)
        for site in self.module.calls:
            function = site.node.func
            spot = Spot(self.module, site.scope, site.node.lineno)
            method = getattr(function, "attr", "")
            if method not in {"setdefault", "update"} or not isinstance(function, ast.Attribute):
                continue
            if self.names.origin(function.value, spot) != "os.environ":
                continue
            if method == "setdefault" and len(site.node.args) == 2:
                key, value = site.node.args
                self._set_variable(found, key, value, spot, conditional=site.conditional)
            elif method == "update":
                for name, entry in self._updated(site.node, spot):
                    setting = setting_of(self.values, name, entry, spot)
                    found[name] = replace(setting, value=UNKNOWN) if site.conditional else setting
        late = {met.holes["name"] for met in late_variables(self.source.tree, self.source.text)}
        return {name: each for name, each in found.items() if name not in late}

    def _updated(self, call: ast.Call, spot: Spot) -> Iterator[tuple[str, DictEntry]]:
        if len(call.args) == 1:
            yield from self.values.entries(call.args[0], spot).items.items()
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield keyword.arg, DictEntry(keyword, keyword.value, spot)

    def _set_variable(
        self, found: dict[str, Observed], key: ast.AST, value: ast.expr | None, spot: Spot, *, conditional: bool
    ) -> None:
        try:
            name = self.values.fold(key, spot)
        except CannotTell:
            return
        if isinstance(name, str) and value is not None:
            setting = setting_of(self.values, name, DictEntry(key, value, spot), spot)
            found[name] = replace(setting, value=UNKNOWN) if conditional else setting

    def _names(self) -> dict[str, Observed]:
        found: dict[str, Observed] = {}
        for scope in self.module.scopes.values():
            if scope.is_class:
                continue
            for name, bindings in scope.bindings.items():
                first = bindings[0]
                if len(bindings) != 1 or not isinstance(first.value, _PLAIN) or first.index is not None:
                    continue
                spot = Spot(self.module, scope, first.line)
                setting = setting_of(self.values, name, DictEntry(first.value, first.value, spot), spot)
                if setting.known:
                    found.setdefault(name, setting)
        return found


def _outermost(scope: NameScope) -> str | None:
    """Name of the function or class of the module that a scope lies in, None for the module's own level."""
    name = None
    while scope.parent is not None:
        name = getattr(scope.node, "name", name)
        scope = scope.parent
    return name


def _reached(module: Module, wanted: set[str]) -> set[str]:
    """Functions and classes that `wanted` ones name, and those that they name in turn, and so on."""
    reached: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for binding in module.scope.bindings.get(name, []):
            if binding.value is not None:
                waiting += [each.id for each in ast.walk(binding.value) if isinstance(each, ast.Name)]
    return reached


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _reads_command_line(sites: list[CallSite]) -> bool:
    """Whether every call that fills classes from a command line is given no other one."""
    calls = [site.node for site in sites if _method(site.node) in _OF_COMMAND_LINE]
    elsewhere = {"args", "args_filename"}
    return bool(calls) and not any(each.args or elsewhere & {key.arg for key in each.keywords} for each in calls)


def _tolerates_unknown(site: CallSite) -> bool:
    """`parse_args_and_config(fail_with_unknown_args=False)` and `return_remaining_strings=True`."""
    if _method(site.node) not in PARSE_METHODS:
        return False
    told = {each.arg: getattr(each.value, "value", None) for each in site.node.keywords}
    return told.get("fail_with_unknown_args", True) is not True or bool(told.get("return_remaining_strings", False))


def _parser_types(call: ast.Call) -> ast.expr | None:
    keyword = next((each.value for each in call.keywords if each.arg == "dataclass_types"), None)
    if keyword is not None:
        return keyword
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def _attribute_changes(module: Module) -> dict[str, list[AttributeChange]]:
    found: dict[str, list[AttributeChange]] = {}
    for change in module.changes:
        if change.attribute:
            found.setdefault(change.base, []).append(change)
    return found
