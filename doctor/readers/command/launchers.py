"""Which launcher a command line names, and what that launcher makes of the words behind it.

Read from the launchers' own sources: accelerate/commands/launch.py, torch/distributed/run.py,
deepspeed/launcher/runner.py, trl/cli, vllm/entrypoints/cli, trinity/cli/launcher.py, swift/cli/main.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from doctor.base.evidence import Observed
from doctor.base.redact import hide, redact_argv
from doctor.data import launchers
from doctor.readers.command import argv as _argv_reader
from doctor.readers.command.wrappers import Unwrapped, unwrap

if TYPE_CHECKING:
    from doctor.facts.launch import Kind, Launch

_VERL_SCRIPT = r"(.*/)?((verl|recipe)/(.*/)?main_\w+\.py|main_ppo\.py)\Z"
#: modules that people start with `python -m` and that neither train nor serve
_OTHER_MODULES = frozenset({
    "pip", "venv", "pytest", "unittest", "http.server", "json.tool", "site", "timeit", "ensurepip", "build", "ruff",
    "mypy", "uv", "this", "sysconfig", "torch.utils.collect_env", "jupyter", "notebook", "ipykernel", "tensorboard",
    "virtualenv", "conda",
    "verl.model_merger", "black", "zipfile", "tarfile", "bitsandbytes", "xformers.info", "deepspeed.env_report",
})  # fmt: skip
#: modules that start a script under observation -> their options that take a word
_OBSERVERS = {
    "pdb": ("-c", "--command"), "cProfile": ("-o", "-s", "--outfile", "--sort"), "profile": ("-o", "-s"), "trace": (),
    "debugpy": ("--listen", "--connect", "--configure-subProcess", "--log-to", "--adapter-access-token"),
    "viztracer": ("-o", "--output_file", "--tracer_entries", "--max_stack_depth"), "scalene": ("--outfile",),
    "memory_profiler": ("-o",), "kernprof": ("-o",), "faulthandler": (),
}  # fmt: skip
_TRL_TRAINS = frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "distillation", "orpo", "cpo", "gkd", "ppo"})
_SWIFT_TRAINS = frozenset({"pt", "sft", "rlhf"})
_TRINITY_STARTS = frozenset({"run", "debug", "studio", "perf"})
#: subcommands that start nothing to be judged, so that they are not taken for misspellings of those that do
_ACCELERATE = (
    "launch", "config", "env", "test", "estimate-memory", "merge-weights", "to-fsdp2", "tpu-config", "tpu",
)  # fmt: skip
_VLLM = ("serve", "chat", "complete", "bench", "collect-env", "run-batch")
_TRL_OTHERS = ("env", "chat", "skills", "openenv")
_TRINITY_OTHERS = ("view", "convert", "log")
_SWIFT_OTHERS = ("infer", "export", "eval", "app", "deploy", "merge-lora", "web-ui", "sample", "app-ui", "merge")
_RAY = (
    "start", "job", "stop", "status", "memory", "timeline", "list", "get", "summary", "logs", "up", "down", "attach",
    "exec", "submit", "stack", "dashboard", "health-check", "microbenchmark", "cluster-dump", "metrics", "disable",
)  # fmt: skip
_TRINITY_SHORT = {"c": "config", "p": "port", "m": "module", "o": "output_dir"}


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """The one name that differs from a word by a slip of the fingers: a letter more, less, other or exchanged."""
    names = set(known)
    if word in names or not 3 <= len(word) <= 30 or not word.replace("-", "").replace("_", "").isalnum():
        return None
    near = [each for each in names if _slip(word.lower().replace("_", "-"), each.replace("_", "-"))]
    return near[0] if len(near) == 1 else None


def _slip(one: str, two: str) -> bool:
    """Whether two words are one edit apart, in long ones two (optimal string alignment)."""
    allowed = 1 if min(len(one), len(two)) < 8 else 2
    if abs(len(one) - len(two)) > allowed:
        return False
    rows = [list(range(len(two) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(two, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1] <= allowed


class Draft:
    """A Launch in the making."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.kind: Kind = "unknown"
        self.program = ""
        self.module: str | None = None
        self.options: dict[str, Observed] = {}
        self.script: str | None = None
        self.script_args: tuple[str, ...] = ()
        self.arguments: dict[str, Observed] = {}
        self.overrides: dict[str, Observed] = {}
        self.subcommand: str | None = None
        self.unknown_options: tuple[str, ...] = ()
        self.inner: Unwrapped | None = None
        self.why: str | None = None
        self.misspelt: str | None = None
        self.meant: str | None = None

    def give_up(self, why: str, word: str = "", known: Iterable[str] = ()) -> None:
        """Leave the kind unknown, and say why; `word` may be a misspelling of one of `known`."""
        self.kind, self.why = "unknown", why
        meant = nearest_name(word, known) if word else None
        if meant is not None:
            self.misspelt, self.meant = word, meant

    def path(self, word: str) -> str:
        """Absolute path of a word on the command line."""
        return os.path.normpath(os.path.join(self.folder, word))  # noqa: PTH118 - no file is touched


Opener = Callable[[Unwrapped], "Launch | None"]


def understand(argv: Sequence[str], folder: str, opener: Opener | None = None) -> Launch:
    """Understand a launch command that is started in `folder`. Never raises and opens nothing.

    `opener` gets what leads to a command that stands in a file or in a container, and may give that command.
    """
    from doctor.facts.launch import Launch

    outer = unwrap([str(word) for word in argv], folder, _is_known)
    draft = _draft(outer)
    if opener is not None and draft.kind == "unknown" and (outer.unread or outer.words):
        outer.unread = outer.unread or outer.words
        found = opener(outer)
        if found is not None:
            return found
    environment, unset = dict(outer.environment), set(outer.unset)
    wrappers, options = list(outer.wrappers), outer.options
    if draft.inner is not None:
        environment.update(draft.inner.environment)
        unset |= draft.inner.unset
        wrappers += draft.inner.wrappers
        options = {**options, **draft.inner.options}
    return Launch(
        argv=tuple(redact_argv(argv)),
        kind=draft.kind,
        program=draft.program,
        module=draft.module,
        environment={name: hide(name, value) for name, value in environment.items()},
        wrappers=tuple(wrappers),
        options=draft.options,
        script=draft.script,
        script_args=tuple(redact_argv(draft.script_args)),
        arguments=draft.arguments,
        overrides=draft.overrides,
        not_understood=draft.why or outer.not_understood,
        subcommand=draft.subcommand,
        folder=draft.folder,
        unset=frozenset(unset - set(environment)),
        ignores_environment=outer.ignores_environment,
        unknown_options=draft.unknown_options,
        wrapper_options=options,
        misspelt=draft.misspelt,
        meant=draft.meant,
    )


def _is_known(name: str) -> bool:
    return name in _PROGRAMS or name.endswith(".py") or _is_python(name)


def _is_python(name: str) -> bool:
    """Whether a program's name is python, python3.11, pypy3, python3.13t ..."""
    tail = name.removeprefix("python") if name.startswith("python") else name.removeprefix("pypy")
    return tail != name and tail.removesuffix("w").removesuffix("-dbg").removesuffix("t").strip("0123456789.") == ""


def _draft(state: Unwrapped) -> Draft:
    draft = Draft(state.folder)
    if not state.words:
        draft.why = None if state.not_understood else "there is no command in it"
        return draft
    _start(draft, state.words)
    return draft


def _start(draft: Draft, words: list[str]) -> None:
    """Fill the draft from a program and its words."""
    draft.program = words[0]
    name = os.path.basename(words[0])  # noqa: PTH119 - a word, not a file
    if name in _PROGRAMS:
        _PROGRAMS[name](draft, words[1:])
    elif _is_python(name):
        _python(draft, words[1:])
    elif name.endswith(".py"):
        draft.kind = "python"
        _script(draft, words)
    elif not name.strip():
        draft.give_up("its first word is empty, as a variable that is not set would leave it")
    else:
        why = f"`{hide('', words[0])[:60]}` is not a launcher that doctor knows"
        draft.give_up(why, name if name == words[0] else "", (*_PROGRAMS, "python", "python3"))


# Scripts -------------------------------------------------------------------------------------------------------------


def _script(draft: Draft, words: Sequence[str]) -> None:
    """The training script and its arguments."""
    draft.script = draft.path(words[0])
    if draft.kind == "python" and "main_" in words[0] and re.match(_VERL_SCRIPT, words[0]):
        draft.kind = "verl"
    _arguments(draft, words[1:])


def _module(draft: Draft, words: Sequence[str]) -> None:
    draft.module = words[0]
    if draft.kind == "python" and _is_verl(words[0]):
        draft.kind = "verl"
    _arguments(draft, words[1:])


def _is_verl(module: str) -> bool:
    """Whether a module is one of veRL's Hydra programs: verl.trainer.main_ppo, recipe.dapo.main_dapo."""
    return module.startswith(("verl.", "recipe.")) and module.rpartition(".")[2].startswith("main_")


def _arguments(draft: Draft, words: Sequence[str]) -> None:
    draft.script_args = tuple(words)
    draft.arguments, others = _argv_reader.parse_loosely(words)
    for word in others:
        found = _argv_reader.override(word)
        if found and found[0] != "~":
            from doctor.readers.command.hydra import hydra_setting

            draft.overrides[found[1]] = hydra_setting(found[1], found[2])


def _launched(draft: Draft, program: str, launcher: str, words: list[str]) -> None:
    """What a launcher with options of its own starts: script, module or (`--no_python`) any program."""
    parsed = _argv_reader.parse(words, launchers.table(launcher), stop_at_word=True)
    draft.options = parsed.settings
    draft.unknown_options = tuple(dict.fromkeys(parsed.unknown))
    draft.why = parsed.complaint(program)
    if not parsed.rest:
        draft.why = draft.why or f"`{program}` gets no script"
    elif "module" in parsed.settings:
        _module(draft, parsed.rest)
    elif "no_python" in parsed.settings:
        _without_python(draft, list(parsed.rest))
    else:
        _script(draft, parsed.rest)


def _without_python(draft: Draft, words: list[str]) -> None:
    inner = Draft(draft.folder)
    _start(inner, words)
    draft.script, draft.module, draft.script_args = inner.script, inner.module, inner.script_args
    draft.arguments, draft.overrides = inner.arguments, inner.overrides
    if inner.kind != "python":
        draft.script_args = tuple(words[1:])
        draft.why = draft.why or f"`{words[0]}` is started as it is and was not looked into"


# Launchers -----------------------------------------------------------------------------------------------------------


def _accelerate(draft: Draft, words: list[str]) -> None:
    if words[:1] != ["launch"]:
        shown = f"accelerate {words[0]}" if words else "accelerate"
        draft.give_up(f"`{shown}` starts no training; `accelerate launch` does", words[0] if words else "", _ACCELERATE)
        return
    draft.subcommand = "launch"
    _accelerate_launch(draft, words[1:])


def _accelerate_launch(draft: Draft, words: list[str]) -> None:
    draft.kind = "accelerate"
    _launched(draft, "accelerate launch", "accelerate", words)


def _torchrun(draft: Draft, words: list[str]) -> None:
    draft.kind = "torchrun"
    _launched(draft, "torchrun", "torchrun", words)


def _deepspeed(draft: Draft, words: list[str]) -> None:
    draft.kind = "deepspeed"
    _launched(draft, "deepspeed", "deepspeed", words)


def _trl(draft: Draft, words: list[str]) -> None:
    names = [word for word in words if not word.startswith("-")]
    name = names[0] if names else ""
    following = words[words.index(name) + 1 :] if name else []
    if name == "vllm-serve":
        _trl_serve(draft, following)
    elif name in _TRL_TRAINS:
        draft.kind, draft.subcommand = "trl", name
        _trl_training(draft, f"trl {name}", following)
    else:
        why = f"`{f'trl {name}'.strip()}` starts no training and no server"
        draft.give_up(why, name, (*_TRL_TRAINS, "vllm-serve", *_TRL_OTHERS))


def _trl_training(draft: Draft, program: str, words: list[str]) -> None:
    """TRL takes what its arguments' classes know and hands the rest to `accelerate launch`."""
    trl = launchers.table("trl")
    known = launchers.OptionTable({**trl.options, "--config": launchers.Option("config")})
    parsed = _argv_reader.parse(words, known, stop_at_word=False)
    draft.arguments = parsed.settings
    draft.script_args = tuple(words)
    accelerate = launchers.table("accelerate")
    options = {**accelerate.options, "--accelerate_config": launchers.Option("accelerate_config")}
    left = _argv_reader.parse(parsed.leftover, launchers.OptionTable(options, abbreviations=False), stop_at_word=False)
    draft.options = left.settings
    older, _ = _argv_reader.parse_loosely(left.leftover)  # arguments of a TRL that the table does not cover
    draft.arguments.update(older)
    draft.unknown_options = tuple(dict.fromkeys(left.unknown))
    draft.why = parsed.complaint(program) if parsed.missing or parsed.ambiguous else left.complaint(program)


def _trl_serve(draft: Draft, words: list[str]) -> None:
    """`trl vllm-serve`; from TRL 1.11 options of `vllm serve` are passed on."""
    draft.kind, draft.subcommand = "trl-vllm-serve", "vllm-serve"
    options = {
        **_vllm_options("vllm"),
        **launchers.table("trl-vllm-serve").options,
        "--config": launchers.Option("config"),
    }
    _serve(draft, "trl vllm-serve", words, launchers.OptionTable(options))


# Servers -------------------------------------------------------------------------------------------------------------


def _vllm_options(launcher: str) -> dict[str, launchers.Option]:
    return {**launchers.table(launcher).options, "--config": launchers.Option("config")}


def _vllm(draft: Draft, words: list[str]) -> None:
    if words[:1] != ["serve"]:
        shown = f"vllm {words[0]}" if words else "vllm"
        draft.give_up(f"`{shown}` starts no server; `vllm serve` does", words[0] if words else "", _VLLM)
        return
    draft.kind, draft.subcommand = "vllm-serve", "serve"
    _serve(draft, "vllm serve", words[1:], launchers.OptionTable(_vllm_options("vllm")))


def _vllm_openai(draft: Draft, words: list[str]) -> None:
    draft.kind = "vllm-openai-server"
    _serve(draft, "vllm.entrypoints.openai.api_server", words, launchers.OptionTable(_vllm_options("vllm")))


def _vllm_api(draft: Draft, words: list[str]) -> None:
    draft.kind = "vllm-api-server"
    _serve(draft, "vllm.entrypoints.api_server", words, launchers.OptionTable(_vllm_options("vllm-api-server")))


def _serve(draft: Draft, program: str, words: list[str], known: launchers.OptionTable) -> None:
    draft.script_args = tuple(words)
    dotted, plain = _dotted(words, known)
    parsed = _argv_reader.parse(plain, known, stop_at_word=False)
    older, _ = _argv_reader.parse_loosely(each for each in parsed.leftover if each not in parsed.words)
    draft.arguments = {**older, **parsed.settings, **dotted}
    draft.unknown_options = tuple(dict.fromkeys(parsed.unknown))
    draft.why = parsed.complaint(program)
    if parsed.words and "model" not in draft.arguments:
        model = parsed.words.pop(0)
        draft.arguments["model"] = Observed.written("model", model, True, model)
    if parsed.words:
        draft.why = draft.why or f"`{program}` does not take the word `{hide('', parsed.words[0])[:60]}`"


def _dotted(words: list[str], known: launchers.OptionTable) -> tuple[dict[str, Observed], list[str]]:
    """Rewrite words as vLLM does: `--a_b` is `--a-b`, `-O3` a level, `--a.b.c 1` and `-cc.b 1` keys of JSON."""
    dotted: dict[str, Observed] = {}
    plain: list[str] = []
    todo = list(words)
    while todo:
        word = todo.pop(0)
        name, joined, value = word.partition("=")
        head, dot, key = name.partition(".")
        if word.startswith("--") and head.replace("_", "-") in known.options:
            head = "--" + head[2:].replace("_", "-")
        if word.startswith("-") and dot and head in known.options:
            value = value if joined else todo.pop(0) if todo else ""
            full = f"{known.options[head].name}.{key}"
            dotted[full] = _argv_reader.secured(Observed.written(full, _argv_reader.guess(value), True, value))
        elif word.startswith("--"):
            plain.append(f"{head}{dot}{key}{joined}{value}")
        elif word.startswith("-O") and len(word) > 2:
            level = word[2:].removeprefix("=")
            dotted["optimization_level"] = Observed.written(
                "optimization_level", _argv_reader.guess(level), True, level
            )
        else:
            plain.append(word)
    return dotted, plain


# Others --------------------------------------------------------------------------------------------------------------


def _trinity(draft: Draft, words: list[str]) -> None:
    name = words[0] if words else ""
    if name not in _TRINITY_STARTS:
        why = f"`{f'trinity {name}'.strip()}` starts no training; `trinity run` does"
        draft.give_up(why, name, (*_TRINITY_STARTS, *_TRINITY_OTHERS))
        return
    draft.kind, draft.subcommand = "trinity", name
    draft.script_args = tuple(words[1:])
    found, others = _argv_reader.parse_loosely(words[1:])
    for key, setting in found.items():
        full = _TRINITY_SHORT.get(key, key)
        draft.options[full] = Observed.written(full, setting.value, setting.known, setting.text)
    if others:
        draft.why = f"`trinity {name}` does not take the word `{others[0][:60]}`"
    elif name in {"run", "debug"} and not draft.options.get("config", Observed.written("", "")).text:
        draft.why = f"`trinity {name}` gets no `--config`"


def _swift(draft: Draft, words: list[str]) -> None:
    """ms-swift, and its `megatron`: a file of arguments may stand in front of them."""
    name = words[0].replace("_", "-") if words else ""
    rolls_out = name == "rollout" and draft.program != "megatron"
    if name not in _SWIFT_TRAINS and not rolls_out:
        program = "megatron" if draft.program == "megatron" else "swift"
        why = f"`{f'{program} {name}'.strip()}` starts no training; `{program} rlhf` does"
        draft.give_up(why, name, (*_SWIFT_TRAINS, "rollout", *_SWIFT_OTHERS))
        return
    draft.kind, draft.subcommand = "swift-rollout" if rolls_out else "swift", name
    _arguments(draft, words[1:])


def _swift_megatron(draft: Draft, words: list[str]) -> None:
    """The module behind ms-swift's `megatron`."""
    draft.program = "megatron"
    _swift(draft, words)


def _ray(draft: Draft, words: list[str]) -> None:
    if words[:2] == ["job", "submit"]:
        _ray_job(draft, words[2:])
        return
    name = words[0] if words else ""
    if name != "start":
        draft.give_up(f"`{f'ray {name}'.strip()}` starts no node and no training", name, _RAY)
        return
    draft.kind, draft.subcommand = "ray", "start"
    draft.options, _ = _argv_reader.parse_loosely(words[1:])


def _ray_job(draft: Draft, words: list[str]) -> None:
    """`ray job submit [options] -- command`: the command, understood as if it were given itself."""
    options, rest = _ray_job_options(words)
    folder = draft.path(str(options["working_dir"].text)) if "working_dir" in options else draft.folder
    if "://" in folder:
        folder = draft.folder
    inner = unwrap(rest, folder, _is_known)
    inner.environment = {**_runtime_variables(options.pop("runtime_env_json", None)), **inner.environment}
    inner.wrappers.insert(0, "ray job submit")
    inner.options = {**{f"ray.{name}": each for name, each in options.items()}, **inner.options}
    draft.folder = inner.folder
    draft.inner = inner
    if not inner.words:
        draft.give_up(inner.not_understood or "`ray job submit` is followed by no command")
        return
    draft.why = inner.not_understood
    _start(draft, inner.words)


def _ray_job_options(words: list[str]) -> tuple[dict[str, Observed], list[str]]:
    flags = {"--no-wait", "--verbose", "-v"}
    options: dict[str, Observed] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name, joined, value = rest.pop(0).partition("=")
        if not joined and name not in flags and rest:
            value = rest.pop(0)
        key = name.lstrip("-").replace("-", "_")
        setting = Observed.written(
            key, value, True, value
        )  # the JSON may hold secrets, and is taken apart by the caller
        options[key] = setting if key == "runtime_env_json" else _argv_reader.secured(setting)
    return options, rest[1:] if rest[:1] == ["--"] else rest


def _runtime_variables(setting: Observed | None) -> dict[str, str]:
    import json

    try:
        content = json.loads(str(setting.value)) if setting else {}
    except ValueError:
        return {}
    variables = content.get("env_vars") if isinstance(content, dict) else None
    return {str(name): str(value) for name, value in variables.items()} if isinstance(variables, dict) else {}


# Python --------------------------------------------------------------------------------------------------------------


def _python(draft: Draft, words: list[str]) -> None:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "-":
            draft.give_up("the program is read from standard input")
            return
        if word.startswith("--"):
            rest = rest[1:] if word == "--check-hash-based-pycs" else rest
            continue
        letter, value = _python_letters(word[1:])
        if letter and not value:
            value = rest.pop(0) if rest else ""
        if letter == "m":
            _python_module(draft, [value, *rest])
            return
        if letter == "c":
            draft.kind, draft.script_args = "python", tuple(rest)
            draft.why = "the code behind `-c` was not read"
            return
    if not rest:
        draft.give_up(f"`{draft.program}` gets no script")
        return
    draft.kind = "python"
    _script(draft, rest)


def _python_letters(letters: str) -> tuple[str, str]:
    """Of joined one-letter options the one that takes a word, and what is joined to it."""
    for index, letter in enumerate(letters):
        if letter in "mcWX":
            return letter, letters[index + 1 :]
    return "", ""


def _python_module(draft: Draft, words: list[str]) -> None:
    name = words[0]
    if not name or name in _OTHER_MODULES:
        draft.give_up(f"`{draft.program} -m {name}`".replace(" `", "`") + " starts no training and no server")
        return
    if name in _OBSERVERS:
        _observed(draft, words[1:], _OBSERVERS[name])
        return
    handler = _MODULES.get(name)
    if handler is not None:
        draft.module = name
        handler(draft, words[1:])
        if draft.kind in {"accelerate", "torchrun", "deepspeed"} and draft.module == name:
            draft.module = None if draft.script else draft.module
        return
    draft.kind = "python"
    _module(draft, words)


def _observed(draft: Draft, words: list[str], values: tuple[str, ...]) -> None:
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in {"-m", "--"}:
        rest = rest[2:] if rest[0] in values else rest[1:]
    _python(draft, rest[1:] if rest[:1] == ["--"] else rest)


Handler = Callable[[Draft, list[str]], None]
_PROGRAMS: dict[str, Handler] = {
    "accelerate": _accelerate,
    "accelerate-launch": _accelerate_launch,
    "torchrun": _torchrun,
    "torchrun-script": _torchrun,
    "deepspeed": _deepspeed,
    "deepspeed.pt": _deepspeed,
    "ds": _deepspeed,
    "trl": _trl,
    "vllm": _vllm,
    "trinity": _trinity,
    "swift": _swift,
    "megatron": _swift,
    "ray": _ray,
}
_MODULES: dict[str, Handler] = {
    "accelerate.commands.launch": _accelerate_launch,
    "accelerate.commands.accelerate_cli": _accelerate,
    "torch.distributed.run": _torchrun,
    "torch.distributed.launch": _torchrun,
    "deepspeed.launcher.runner": _deepspeed,
    "trl.cli": _trl,
    "trl.cli.main": _trl,
    "trl.commands.cli": _trl,
    "trl.scripts.vllm_serve": _trl_serve,
    "vllm.entrypoints.cli.main": _vllm,
    "vllm.scripts": _vllm,
    "vllm.entrypoints.openai.api_server": _vllm_openai,
    "vllm.entrypoints.api_server": _vllm_api,
    "trinity.cli.launcher": _trinity,
    "swift.cli.main": _swift,
    "swift.cli._megatron.main": _swift_megatron,
    "ray": _ray,
    "ray.scripts.scripts": _ray,
}
