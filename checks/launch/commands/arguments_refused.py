"""Judges arguments-refused (LCH025), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.data.launchers import nearest, table
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
UNKNOWN = TOML["unknown"]
BLANK = TOML["blank"]
ENTRYPOINT = TOML["entrypoint"]
SURPLUS = TOML["surplus"]
MISSING = TOML["missing"]
VALUE = TOML["value"]
READ = TOML["read"]
LACKING = TOML["lacking"]
BEHIND_FILE = TOML["behind_file"]
AMBIGUOUS = TOML["ambiguous"]


_LLAMAFACTORY, _FILES = frozenset({"llamafactory-cli", "lmf"}), (".yaml", ".yml", ".json")
#: fields of TRL's classes for parsers that some release has no default for
_TRLS_OWN = ("dataset_name",)
#: first words of a command that was handed to a server as its arguments
_COMMANDS = later(r"(?:\S{0,80}/)?(?:serve|vllm|sglang|python3?|bash|sh|uv|torchrun|sleep)$|\S{0,80}/\S{1,160}$")


#: file of a server's command line -> the package it belongs to, which a trainer may start with options of its own time
#: whose options are known here
_LAUNCHERS = frozenset({"torchrun", "deepspeed", "accelerate"})
_SERVERS = {"launch_server.py": "sglang", "api_server.py": "vllm", "vllm": "vllm", "launch_router.py": "sglang-router"}


@check(PROBLEM)
def required_arguments_given(training: Training, script: Script, packages: Packages) -> Judgement:
    """What the script's parser asks for and neither command nor file gives; a release of TRL asks for some itself."""
    given = training.given_by_command
    if given is None:
        return
    version = packages.version("trl")
    asked = [*training.asked_of_command, *_asked_by_trl(script, version or "")]
    names = [name for name in dict.fromkeys(asked) if name not in given]
    if names:
        yield found(
            PROBLEM, LACKING, confidence=LIKELY, names=_listed(names), where=Where(file=script.path),
            commands=(" ".join(f"--{name} ..." for name in names[:4]),),
            evidence=(Observed.quoted(script.path, ", ".join(names)),),
        )  # fmt: skip


@check(PROBLEM)
def options_behind_the_file(launch: Launch) -> Judgement:
    """LLaMA-Factory takes options, or a file with `key=value` behind it (src/llamafactory/hparams/parser.py)."""
    names = [PurePath(word).name for word in launch.argv]
    at = next((index for index, name in enumerate(names) if name in _LLAMAFACTORY), None)
    words = launch.argv[at + 2 :] if at is not None else ()
    options = [word for word in words[1:] if word.startswith("--")] if words and words[0].endswith(_FILES) else []
    if options:
        named = ", ".join(f"`{each}`" for each in options[:4])
        yield found(
            PROBLEM, BEHIND_FILE, confidence=LIKELY, names=named, file=words[0],
            commands=(f"{options[0].lstrip('-').partition('=')[0]}=...",),
            evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
        )  # fmt: skip


def _asked_by_trl(script: Script, version: str) -> Iterator[str]:
    """Fields without a default in the installed TRL, of its classes that the parser fills."""
    for name in script.parses_arguments_into:
        local = script.classes.get(name)
        base = local.base if local is not None else name
        for field in _TRLS_OWN:
            if base is None or (local is not None and field in local.fields):
                continue
            history = data.trl_argument(base, field)
            if history is not None and history.exists_in(version) and history.default_in(version) is None:
                yield field


def explain(hits: Hits) -> Finding | None:
    """Say which argument it was and what was wrong with it."""
    unknown = (hits.get("unknown") or "").strip()
    if unknown and not unknown.strip("\\'\", "):
        message, names = BLANK, ""
    elif unknown:
        message, names = UNKNOWN, _listed(each for each in unknown.split() if each.lstrip("'\"[").startswith("-"))
    elif hits.get("ambiguous"):
        message, names = AMBIGUOUS, _listed([hits.get("ambiguous") or ""])
    elif hits.get("missing"):
        message, names = MISSING, _listed((hits.get("missing") or "").split(", "))
    else:
        message, names = READ if hits.get("told") else VALUE, _listed([hits.get("argument") or ""])
    program = (hits.get("program") or "").replace("\\", "/").rpartition("/")[2]
    server = _SERVERS.get(program)
    near = _nearest(program, unknown) if message is UNKNOWN else ""
    surplus = message is UNKNOWN and not unknown.lstrip("'\"[").startswith("-")
    if surplus:
        message = ENTRYPOINT if server and _COMMANDS.match(unknown.split()[0]) else SURPLUS
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), names=names or f"`{unknown[:60]}`",
        why=hits.get("why") or "", whose=TOML.phrase("whose", server=server) if server else "",
        confidence=LIKELY if surplus else CONFIRMED,
        option=(hits.get("argument") or "").split("/")[0], program=program,
        near=near, choices=_listed((hits.get("match") or "").split(", ")), words=f"`{unknown[:60]}`",
    )  # fmt: skip


def _nearest(program: str, unknown: str) -> str:
    """An option of a launcher that the first argument is nearly."""
    if program not in _LAUNCHERS:
        return ""
    return nearest(unknown.split(maxsplit=1)[0].partition("=")[0], table(program).options)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{each.partition('=')[0].strip(',')}`" for each in list(names)[:4])
