"""What a remedy orders, as data: which input is to become what. Read from the commands that a finding prints.

A command is written in the tongue of the place where it is to stand: a shell (`pip install "trl>=0.18"`,
`export NCCL_DEBUG=WARN`), Python (`num_generations=4`), YAML (`mixed_precision: bf16`), JSON (`"stage": 2`), a command
line (`--max-model-len 8192`), Hydra (`trainer.logger=['console']`); or it is a whole launch command (`vllm serve M`).
What only looks (`nvidia-smi`), and code, changes no input that the doctor reads, and gives no change.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from doctor.base.change import ANY, Change, Input
from doctor.base.patterns import later
from doctor.base.record import record


@record
class Ordered(Change):
    """A change as a command orders it.

    Args:
        form: how the command is written: "python", "yaml", "json", "option", "hydra", "shell".
        renames: only the name is given, for a setting that stands there under another one.
        again: of a package: more than a version is installed (anew, from elsewhere, with extras).
        newest: of a package: the newest release that can be had, also where one of the range is there.

    """

    form: str = "shell"
    renames: bool = False
    again: bool = False
    newest: bool = False


_INSTALLERS = later(r"^(?:(?:uv\s+)?pip3?|\S*python[\d.]*\s+-m\s+pip)\s+(?P<verb>install|uninstall)\s+(?P<rest>.+)$")
_REQUIREMENT = later(r"^(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\[[\w,.-]+\])?\s*(?P<range>(?:[<>=!~]=?|===).*)?$")
_VALUED = ("--index-url", "-i", "--extra-index-url", "--find-links", "-f", "-r", "-c", "-e", "--editable")
_AGAIN = ("--force-reinstall", "--no-binary", "-e", "--editable", "--index-url", "-i", "--no-build-isolation")
_ASSIGNED = later(r"^(?P<name>[A-Z]\w*|no_proxy|http_proxy|https_proxy)=(?P<value>.*)$", re.DOTALL)
_KEYWORD = later(r"^(?P<name>[a-z_]\w*)=(?P<value>[^=].*)$")
_DOTTED = later(r"^[+~]{0,2}(?P<name>[a-z_]\w*(?:\.\w+)+)=(?P<value>.+)$")
_YAML = later(r"^(?P<name>[a-z_]\w*):(?: +(?P<value>\S.*))?$")
_JSON = later(r'^"(?P<name>[\w.]+)"(?:\s*:\s*(?P<value>.+))?$')
_OPTION = later(r"^--(?P<name>[a-z][\w-]*)(?:[= ](?P<value>.+))?$")
#: programs that start what is judged, and what each of them is installed with
PROGRAMS = {
    "accelerate": "accelerate", "torchrun": "torch", "deepspeed": "deepspeed", "vllm": "vllm", "trl": "trl",
    "swift": "ms-swift", "trinity": "trinity-rft", "ray": "ray", "axolotl": "axolotl", "ds_report": "deepspeed",
    "wandb": "wandb",
}  # fmt: skip
_LAUNCHES = frozenset({"launch", "serve", "vllm-serve", "grpo", "sft", "rlhf"})
_LAUNCHING = ("accelerate.commands.launch", "torch.distributed.", "swift.cli", "trl.", "vllm.entrypoints")


def changes_of(command: str) -> tuple[Ordered, ...]:
    """What a command orders; nothing where it changes no input that is read.

    An expression is compiled only where the text has what it cannot do without.
    """
    command = command.strip()
    if "install" in command and (installs := _INSTALLERS.match(command)):
        return tuple(_of_pip(installs["verb"], installs["rest"]))
    if command.startswith(("export ", "unset ")):
        return tuple(_of_shell(command))
    for read in (_of_option, _of_json, _of_yaml, _of_keywords, _of_hydra):
        if found := read(command):
            return found
    return tuple(_of_launch(command))


def program_of(command: str) -> tuple[str, str] | None:
    """The program that a command runs with the distribution that brings it, None where the stack has no part in it."""
    words = [each for each in _words(command.partition(";")[0].partition("&&")[0]) if not _ASSIGNED.match(each)]
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name.startswith("python") and words[1:2] == ["-m"] and len(words) > 2:
        module = words[2].partition(".")[0]
        owned = {**PROGRAMS, "verl": "verl", "torch": "torch"}.get(module)
        return (words[2], owned) if owned else None
    return (name, PROGRAMS[name]) if name in PROGRAMS else None


def _words(text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _of_pip(verb: str, rest: str) -> Iterator[Ordered]:
    words = _words(rest)
    again, newest = (any(each in names for each in words) for names in (_AGAIN, ("-U", "--upgrade")))
    skipped = False
    for before, word in zip(["", *words], words, strict=False):
        skipped = before in _VALUED
        if skipped or word.startswith("-"):
            continue
        match = _REQUIREMENT.match(word)
        if match is None:
            continue  # a path, an archive's address
        name = re.sub(r"[-_.]+", "-", match["name"]).lower()
        new = None if verb == "uninstall" else (match["range"] or "").replace(" ", "")
        yield Ordered(Input("package", name), new=new, again=again or bool(match["extras"]), newest=newest)


def _of_shell(command: str) -> Iterator[Ordered]:
    verb, _, rest = command.partition(";")[0].partition("&&")[0].strip().partition(" ")
    for word in _words(rest):
        if verb == "unset":
            yield Ordered(Input("variable", word))
        elif match := _ASSIGNED.match(word) or re.match(r"^(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$", word):
            chosen = "$" in match["value"] or match["value"] in {"...", ""} or match["value"].startswith("/path/")
            yield Ordered(Input("variable", match["name"]), new=ANY if chosen else match["value"])


def _of_option(command: str) -> tuple[Ordered, ...]:
    """`--name value`; several options in one command follow each other."""
    if not command.startswith("--"):
        return ()
    found = []
    for part in re.split(r"\s+(?=--[a-z])", command):
        match = _OPTION.match(part)
        if match is None:
            return ()
        name, text = match["name"].replace("-", "_"), match["value"]
        if text is None:
            found.append(Ordered(Input("setting", name), new=True, form="option", renames=" " not in command))
            continue
        value = ANY if _is_placeholder(text) else _number(_words(text)[0] if len(_words(text)) == 1 else text)
        found.append(Ordered(Input("setting", name), new=value, form="option"))
    return tuple(found)


def _of_json(command: str) -> tuple[Ordered, ...]:
    match = _JSON.match(command) if command.startswith('"') else None
    if match is None:
        return ()
    if match["value"] is None:
        return (Ordered(Input("setting", match["name"]), form="json", renames=True, new=ANY),)
    try:
        pairs = json.loads(f"{{{command}}}")  # several pairs of one section follow each other
    except ValueError:
        return ()
    found = []
    for name, value in pairs.items():
        flat = {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
        found += [Ordered(Input("setting", key), new=each, form="json") for key, each in flat.items()]
    return tuple(found)


def _of_yaml(command: str) -> tuple[Ordered, ...]:
    match = _YAML.match(command) if ":" in command else None
    if match is None or match["name"] in {"http", "https"}:
        return ()
    name = Input("setting", match["name"])
    if match["value"] is None:
        return (Ordered(name, form="yaml", renames=True, new=ANY),)
    if match["value"].startswith(("{", "[")):
        return ()
    return (Ordered(name, new=_literal(match["value"], yaml=True), form="yaml"),)


def _of_keywords(command: str) -> tuple[Ordered, ...]:
    """`name=value` as a keyword argument; several are divided by commas."""
    if "=" not in command or not re.match(r"^[a-z_]\w*=[^=\s]", command):
        return ()
    try:
        call = ast.parse(f"_({command})", mode="eval").body
    except SyntaxError:
        match = _KEYWORD.match(command)
        return (Ordered(Input("setting", match["name"]), new=match["value"], form="python"),) if match else ()
    if not isinstance(call, ast.Call) or call.args:
        return ()
    found = []
    for each in call.keywords:
        try:
            value = ast.literal_eval(each.value)
        except (ValueError, TypeError):
            value = ANY
        found.append(Ordered(Input("setting", each.arg or ""), new=ANY if value is ... else value, form="python"))
    return tuple(found)


def _of_hydra(command: str) -> tuple[Ordered, ...]:
    match = _DOTTED.match(command) if "=" in command else None
    if match is None:
        return ()
    return (Ordered(Input("setting", match["name"]), new=_literal(match["value"]), form="hydra"),)


def _of_launch(command: str) -> Iterator[Ordered]:
    """Variables in front of a command, and the command itself where it starts what is judged."""
    words, variables = _words(command), []
    while words and "=" in words[0] and (match := _ASSIGNED.match(words[0])):
        variables.append(Ordered(Input("variable", match["name"]), new=match["value"]))
        words = words[1:]
    if words and not _starts(words):
        return  # `HF_HUB_OFFLINE=0 hf download ...` sets it for the download alone
    yield from variables
    if words:
        yield Ordered(Input("launch", words[2] if words[1:2] == ["-m"] else words[0]), new=tuple(words))


def _starts(words: list[str]) -> bool:
    """Whether a command starts a training or a server."""
    if words[1:2] == ["-m"]:
        return len(words) > 2 and words[2].startswith(_LAUNCHING)
    return words[0] in {"torchrun", "deepspeed"} or (words[0] in PROGRAMS and bool(_LAUNCHES & set(words[1:2])))


def _is_placeholder(text: str) -> bool:
    """Whether the user is to put something of theirs there."""
    return "..." in text or "_OF_" in text or text in {"FILE", "MODEL", "SCRIPT", "NAME", "IMAGE", "DIR"}


def _number(text: str) -> Any:
    """An option's value: a number, else the text."""
    value = _literal(text)
    return value if isinstance(value, (int, float)) else text


def _literal(text: str, *, yaml: bool = False) -> Any:
    """The value that a text stands for; the text itself where it is none."""
    if text == "...":
        return ANY
    known = {"true": True, "false": False, "null": None} if yaml else {"True": True, "False": False}
    if text in known:
        return known[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
