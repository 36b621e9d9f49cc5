"""Collects the fact `verl_config`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.evidence import Observed
from doctor.base.fact import Context, DoesNotApply, Settings, fact
from doctor.base.record import replace
from doctor.facts.launch import Launch
from doctor.facts.verl_config import VerlConfig
from doctor.readers.command.argv import override

if TYPE_CHECKING:
    from doctor.readers.script.python_source import ParsedFile


@fact(about="command")
def collect(context: Context, launch: Launch) -> VerlConfig:
    """Read veRL's overrides and the user's own YAML.

    Raises:
        Unavailable: the command does not start veRL's trainer.

    """
    if launch.kind != "verl":
        raise DoesNotApply("the command does not start veRL")
    signs = [found for found in map(override, launch.script_args) if found is not None]
    name = _text(launch, "config_name", "cn") or "ppo_trainer"
    path = _base_path(launch, name, launch.folder or str(context.cwd))
    base: Settings = {}
    broken = None
    if path is not None:
        from doctor.readers.files.settings import load_yaml

        found = load_yaml(path, omegaconf=True)
        base = {key: each for key, each in found.settings.items() if key.split(".")[0] != "defaults"}
        broken = found.broken
    absent = tuple(_absent({**base, **launch.overrides}, Path(launch.folder or context.cwd)))
    return VerlConfig(
        entry=launch.module or launch.script or launch.program,
        config_name=name,
        overrides=launch.overrides,
        added=frozenset(key for sign, key, _ in signs if sign in {"+", "++"}),
        removed=frozenset(key for sign, key, _ in signs if sign == "~"),
        base=base,
        broken=broken,
        base_path=path,
        absent=absent,
        nameless=tuple(_nameless({**base, **launch.overrides}, Path(launch.folder or "."))),
        sources=tuple(_sources(launch)),
    )


_KEY_OF_SOURCE = "data_source"


def _sources(launch: Launch) -> Iterator[Observed]:
    """`{"data_source": "..."}` in scripts that the same file starts before; a name counts that one text is given."""
    from doctor.readers.script.python_source import ParsedFile, SourceNotReadable, parse, read_regular

    own = launch.read_from[-1].line if launch.read_from else None
    for beside in launch.beside:
        word = next((each for each in beside.argv if each.endswith(".py")), None)
        if beside.kind != "python" or word is None or beside.place is None or (beside.place.line or 0) > (own or 0):
            continue
        path = str(Path(launch.folder or ".") / word)
        try:
            source = parse(read_regular(path, 1 << 20), path)
        except SourceNotReadable:
            continue
        if isinstance(source, ParsedFile) and "parquet" in source.text:
            yield from _written_sources(source)


def _written_sources(source: ParsedFile) -> Iterator[Observed]:
    nodes = list(ast.walk(source.tree))
    texts: dict[str, set[str | None]] = {}
    for node in nodes:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                texts.setdefault(target.id, set()).add(_constant(node.value))
    for node in nodes:
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            if _constant(key) != _KEY_OF_SOURCE:
                continue
            held = texts.get(value.id, {None}) if isinstance(value, ast.Name) else {_constant(value)}
            if len(held) == 1 and (text := next(iter(held))) is not None:
                place = source.place(value)
                yield Observed.written(_KEY_OF_SOURCE, text, True, text, place)


def _constant(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


#: keys that name a file, or a list of files
_FILES = (
    "data.train_files", "data.val_files", "data.custom_cls.path", "custom_reward_function.path",
    "reward.custom_reward_function.path",
)  # fmt: skip


def _absent(settings: Settings, folder: Path) -> Iterator[Observed]:
    """Settings one of whose files is not there; what a scheme or a variable leads to is not looked for."""
    for key in _FILES:
        setting = settings.get(key)
        if setting is None or not setting.known:
            continue
        for each in setting.value if isinstance(setting.value, list) else [setting.value]:
            if not isinstance(each, str) or not each or "://" in each or "$" in each or "\0" in each:
                continue
            path = folder / os.path.expanduser(each)  # noqa: PTH111
            if _is_absent(path):
                yield replace(setting, value=each)
                break


#: keys of a name, and of the file in which it is looked for
_OBJECTS = (
    ("custom_reward_function.name", "custom_reward_function.path"),
    ("reward.custom_reward_function.name", "reward.custom_reward_function.path"),
    ("data.custom_cls.name", "data.custom_cls.path"),
)


def _nameless(settings: Settings, folder: Path) -> Iterator[Observed]:
    """Settings that name an object which no statement at the top of the file makes.

    https://github.com/volcengine/verl/blob/v0.5.0/verl/trainer/ppo/reward.py
    """
    for name, path in _OBJECTS:
        wanted, file = settings.get(name), settings.get(path)
        if wanted is None or file is None or not wanted.known or not file.known or not isinstance(file.value, str):
            continue
        made = _made_in(folder / os.path.expanduser(file.value))  # noqa: PTH111
        if made is not None and isinstance(wanted.value, str) and wanted.value and wanted.value not in made:
            yield wanted


def _made_in(path: Path) -> set[str] | None:
    """Names that a Python file gives at its top; None where that is not known."""
    from doctor.readers.script.python_source import ParsedFile, SourceNotReadable, parse, read_regular

    try:
        source = parse(read_regular(str(path), 1 << 20), str(path))
    except SourceNotReadable:
        return None
    return names_at_top(source.tree.body) if isinstance(source, ParsedFile) else None


def names_at_top(body: Sequence[ast.stmt]) -> set[str] | None:
    """Names that statements bind, in branches too; None where one imports names that are not listed."""
    made: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {each.asname or each.name.partition(".")[0] for each in node.names}
        else:
            made |= {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            made |= {each.name for each in ast.walk(node) if isinstance(each, kinds)}
            made |= {each.asname or each.name for each in ast.walk(node) if isinstance(each, ast.alias)}
    return None if "*" in made or "__getattr__" in made else made


def _is_absent(path: Path) -> bool:
    """Whether nothing is there; a pattern is something, and what may not be looked at is not known to be absent."""
    if any(each in path.name for each in "*?["):
        return False
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _text(launch: Launch, *names: str) -> str | None:
    return next((launch.arguments[name].text for name in names if name in launch.arguments), None) or None


def _base_path(launch: Launch, name: str, folder: str) -> str | None:
    """File of the configuration that is named, where it can be found without importing veRL.

    `--config-path` is relative to the file of the program, `--config-dir` to the current folder
    (https://hydra.cc/docs/advanced/hydra-command-line-flags/).
    """
    candidates = []
    config_path, config_dir = _text(launch, "config_path", "cp"), _text(launch, "config_dir", "cd")
    if config_path:
        program = launch.script or os.path.join(folder, *(launch.module or "").split("."))  # noqa: PTH118
        candidates.append(os.path.join(os.path.dirname(program), config_path.removeprefix("file://")))  # noqa: PTH118, PTH120
    if config_dir:
        candidates.append(os.path.join(folder, config_dir))  # noqa: PTH118
    file = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    paths = [os.path.normpath(os.path.join(each, file)) for each in candidates]  # noqa: PTH118
    return next((path for path in paths if os.path.exists(path)), None)  # noqa: PTH110
