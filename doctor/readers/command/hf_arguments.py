"""What `HfArgumentParser` and `TrlParser` make of a command line and of a YAML file.

Rules read in https://github.com/huggingface/transformers/blob/main/src/transformers/hf_argparser.py and
https://github.com/huggingface/trl/blob/main/trl/scripts/utils.py: the file's values replace the defaults, the command
line wins over both, and argparse converts defaults that are text as if they had been typed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import distinct, replace
from doctor.base.redact import hide_value
from doctor.data.launchers import Option, OptionTable, table
from doctor.facts.script import LocalClass
from doctor.readers.command.argv import convert, parse, parse_loosely
from doctor.readers.files.located import Located
from doctor.readers.files.settings import load_json, load_yaml


@distinct
class Given:
    """Arguments by name, whatever class they belong to.

    `nested`: dotted keys of mappings in the file; `environment`: the file's `env:`; `file`: the path of the file read.
    """

    settings: dict[str, Observed] = field(default_factory=dict)
    nested: dict[str, Observed] = field(default_factory=dict)
    environment: dict[str, Observed] = field(default_factory=dict)
    broken: BrokenFile | None = None
    file: str | None = None
    repeated_keys: tuple[RepeatedKey, ...] = ()


def options(classes: Iterable[LocalClass], *, closed: bool) -> OptionTable:
    """Options of TRL's classes and of the script's own; `closed`: there are no others, so that prefixes can be told."""
    known = table("trl")
    own = {f"--{each.name}": _option(each) for local in classes for each in local.fields.values()}
    return OptionTable({**own, **known.options}, abbreviations=known.abbreviations and closed)


def _option(field_of_class: Observed) -> Option:
    kind = type(field_of_class.value).__name__ if field_of_class.known else None
    return Option(field_of_class.name, "?", kind if kind in {"bool", "int", "float"} else None)


def from_words(words: Sequence[str], known: OptionTable) -> dict[str, Observed]:
    """Settings of a command line; options that no release of TRL has are read as well as they can be."""
    parsed = parse(words, known, stop_at_word=False)
    strange, _ = parse_loosely(parsed.leftover)
    found = {**strange, **parsed.settings}
    return {name: _unpacked(each) for name, each in found.items()}


def given(words: Sequence[str], cwd: str, script: str | None, known: OptionTable, *, reads_config: bool) -> Given:
    """Everything that command line and file say; `reads_config`: the program takes `--config file.yaml`."""
    if reads_config:
        known = OptionTable({**known.options, "--config": Option("config")}, abbreviations=known.abbreviations)
    words = [*_words_of_args_file(script), *words]
    if len(words) == 1 and words[0].endswith((".json", ".yaml", ".yml")):
        return _from_file(str(Path(cwd, words[0])))
    typed = from_words(words, known)
    config = typed.pop("config", None) if reads_config else None
    if config is None:
        return Given(typed)
    path = config.value if isinstance(config.value, str) else config.text
    found = _from_file(str(Path(cwd, path)))
    found.settings.update(typed)
    found.nested = {key: each for key, each in found.nested.items() if key.partition(".")[0] not in typed}
    return found


def _words_of_args_file(script: str | None) -> list[str]:
    """`train.args` beside `train.py`, which the parser reads before the command line."""
    if script is None:
        return []
    from doctor.readers.files.text import read_text

    path = Path(script).with_suffix(".args")
    text = read_text(str(path)) if path.is_file() else ""
    return text.split() if isinstance(text, str) else []


def _from_file(path: str) -> Given:
    read = load_json(path) if path.endswith(".json") else load_yaml(path)
    if read.broken is not None:
        return Given(broken=read.broken, file=path)
    found = Given(file=path, repeated_keys=read.repeated_keys)
    for name, value in read.document.items():
        if name == "env" and isinstance(value, Mapping):
            found.environment = {
                str(key): Observed.written(
                    str(key), hide_value(str(key), str(each)), True, "", _place(read, f"env.{key}")
                )
                for key, each in value.items()
            }
            continue
        setting = read.settings.get(name) or Observed.written(name, value, True, "", _place(read, name))
        found.settings[str(name)] = _typed(replace(setting, name=str(name), value=_hidden(str(name), value)))
    found.nested = {name: each for name, each in read.settings.items() if name.partition(".")[0] in found.settings}
    return found


def _hidden(name: str, value: Any) -> Any:
    return hide_value(name, value) if isinstance(value, (str, list)) else value


def _place(read: Located, name: str) -> Place:
    """Place of a key; of the first key below it when it is a mapping, for only leaves have one."""
    if name in read.settings:
        return read.settings[name].place or Place(read.path)
    inner = [each.place for key, each in read.settings.items() if key.startswith(f"{name}.") and each.place]
    return inner[0] if inner else Place(read.path)


def _typed(setting: Observed) -> Observed:
    """Text in a file becomes what the parser's type makes of it: YAML reads `1e-5` as text, argparse as a number."""
    option = table("trl").options.get(f"--{setting.name}")
    if isinstance(setting.value, str) and option is not None and option.type:
        return replace(setting, value=convert(option.type, setting.value))
    return _unpacked(setting)


def _unpacked(setting: Observed) -> Observed:
    """JSON text given for an argument that takes a mapping (`--model_init_kwargs '{"dtype": "bfloat16"}'`)."""
    if isinstance(setting.value, str) and setting.value.lstrip().startswith("{"):
        try:
            value = json.loads(setting.value)
        except (ValueError, RecursionError):
            return setting
        if isinstance(value, dict):
            return replace(setting, value=value)
    return setting


def nested_of(settings: Settings) -> dict[str, Observed]:
    """Dotted keys of mappings among settings that have none of their own yet."""
    return {
        f"{name}.{key}": Observed.written(f"{name}.{key}", each, True, str(each), setting.place)
        for name, setting in settings.items()
        if isinstance(setting.value, Mapping)
        for key, each in setting.value.items()
    }
