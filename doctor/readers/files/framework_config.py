"""Collects the fact `framework_config`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, Context, DoesNotApply, Unavailable, fact
from doctor.base.patterns import later
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.readers.command import swift

#: programs, modules and packages that a script imports, by which a framework is recognised
_PROGRAMS = {"llamafactory-cli": "llamafactory", "lmf": "llamafactory", "axolotl": "axolotl", "oumi": "oumi"}
_MODULES = (
    ("llamafactory", "llamafactory"), ("axolotl.cli", "axolotl"), ("openrlhf.cli", "openrlhf"), ("oumi", "oumi"),
    ("skyrl_train.entrypoints", "skyrl"), ("skyrl.train.entrypoints", "skyrl"), ("areal.launcher", "areal"),
    ("prime_rl", "prime_rl"),
)  # fmt: skip
#: programs whose names are common words: only with the form in which prime-rl takes its files
_OF_PRIME = frozenset({"rl", "sft", "trainer", "orchestrator", "inference"})
_IMPORT = later(
    r"^\s*(?:from|import)\s+(nemo_rl|areal|slime|skyrl_train|llamafactory(?=\.train|\.launcher|\.cli)|llmtuner)\b",
    re.MULTILINE,
)
_IMPORTED = {
    "llamafactory": "llamafactory",
    "llmtuner": "llamafactory",
    "nemo_rl": "nemo_rl",
    "areal": "areal",
    "slime": "slime",
    "skyrl_train": "skyrl",
}
_FILE = later(r"\S+\.(?:ya?ml|json|toml)")
_OVERRIDE = later(r"[+~]{0,2}([A-Za-z_][\w.\-]*)=(.*)", re.DOTALL)
#: before a file that oumi loads from its repository whenever it starts
#: (https://github.com/oumi-ai/oumi/blob/d8ed07778d7931565798ad45a859cafb54d4fc58/src/oumi/cli/cli_utils.py)
_OF_OUMI = "oumi://"
#: options that name a file of settings, or that say nothing of the training
_OF_FILES = frozenset({"config", "c", "config_path", "config_name", "config_dir", "cfg", "@"})


@fact(about="command")
def collect(context: Context, launch: Launch) -> FrameworkConfig:
    """Read the files, options and overrides behind the framework's name.

    Raises:
        DoesNotApply: the command starts none of these frameworks.
        Unavailable: the settings are loaded from elsewhere when the framework starts.

    """
    if launch.program != "megatron" and (launch.kind == "swift-rollout" or swift.is_swift(launch)):
        return _of_swift(launch)
    folder = launch.folder or str(context.cwd)
    framework, words = recognised(launch.argv, folder)
    if framework is None:
        raise DoesNotApply("the command starts no framework of this kind")
    settings: dict[str, Observed] = {}
    files, absent = [], []
    broken: BrokenFile | None = None
    for word in words:
        name = word.rpartition("=")[2].lstrip("@") if not _OVERRIDE.fullmatch(word) or word.startswith("--") else word
        if not _FILE.fullmatch(name):
            continue
        if framework == "oumi" and name.lower().startswith(_OF_OUMI):
            raise Unavailable(f"oumi loads `{name}` from its repository when it starts")
        path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
        if not os.path.isfile(path):  # noqa: PTH113
            absent.append(name)
            continue
        found, wrong = _read(path)
        settings.update(found)
        files.append(path)
        broken = broken or wrong
    settings.update(written(words))
    return FrameworkConfig(framework, settings, tuple(files), tuple(absent), broken)


def _of_swift(launch: Launch) -> FrameworkConfig:
    """Options of ms-swift, of the command and of the file in front of them; a mapping of the file is one value.

    Megatron's are parsed by another class.
    """
    given = swift.settings_of(launch)
    return FrameworkConfig("ms-swift", {name: each for name, each in given.items() if "." not in name})


def recognised(argv: Sequence[str], folder: str) -> tuple[str | None, tuple[str, ...]]:
    """The framework that a command starts, and the words behind its name."""
    for index, word in enumerate(argv):
        rest = tuple(argv[index + 1 :])
        base = word.rpartition("/")[2]
        if base in _PROGRAMS:
            return _PROGRAMS[base], rest[1:]  # behind its subcommand
        module = next((name for start, name in _MODULES if word == start or word.startswith(f"{start}.")), None)
        if module is not None and index and argv[index - 1] in ("-m", "--module"):
            return module, rest
        if base in _OF_PRIME and any(each == "@" or each.startswith("@") for each in rest):
            return "prime_rl", rest
        if word.endswith(".py") and (name := _imported(os.path.join(folder, word))) is not None:  # noqa: PTH118
            return name, rest
    return None, ()


def _imported(path: str) -> str | None:
    from doctor.readers.files.text import read_text

    text = read_text(path)
    match = _IMPORT.search(text) if isinstance(text, str) else None
    return _IMPORTED[match.group(1)] if match else None


def written(words: Sequence[str]) -> dict[str, Observed]:
    """Options (`--a.b value`, `--a=b`, `--flag`) and overrides (`a.b=value`) of a command."""
    from doctor.readers.command.hydra import hydra_setting

    found: dict[str, Observed] = {}
    for name, text in _pairs(words):
        key = name.lstrip("-").replace("-", "_")
        if key and key not in _OF_FILES:
            found[key] = hydra_setting(key, text)
    return found


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(words):
        if word.startswith("--") and len(word) > 2:
            name, equals, text = word.partition("=")
            following = words[index + 1] if index + 1 < len(words) else "--"
            yield name, text if equals else "true" if following.startswith("--") else following
        elif match := _OVERRIDE.fullmatch(word):
            yield match.group(1), match.group(2)


def _read(path: str) -> tuple[dict[str, Observed], BrokenFile | None]:
    from doctor.readers.files.settings import load_json, load_yaml

    if path.endswith(".toml"):
        return _toml(path)
    located = load_json(path) if path.endswith(".json") else load_yaml(path, omegaconf=True)
    return dict(located.settings), located.broken


def _toml(path: str) -> tuple[dict[str, Observed], BrokenFile | None]:
    """Settings of a TOML file; a line is where its key first stands."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    from doctor.readers.files.settings import settings_of
    from doctor.readers.files.text import read_text

    text = read_text(path)
    if isinstance(text, BrokenFile):
        return {}, text
    try:
        plain = settings_of(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        return {}, BrokenFile(Place(path), f"not TOML: {exc}")
    lines = text.splitlines()
    return {name: _placed(setting, path, lines) for name, setting in plain.items()}, None


def _placed(setting: Observed, path: str, lines: Sequence[str]) -> Observed:
    key = re.compile(rf"\s*{re.escape(setting.name.rpartition('.')[2])}\s*=")
    line = next((number for number, each in enumerate(lines, 1) if key.match(each)), None)
    return Observed.written(setting.name, setting.value, True, str(setting.value), Place(path, line))
