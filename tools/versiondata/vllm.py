"""vLLM: engine arguments and the flags of `vllm serve`, from arg_utils.py and cli_args.py of each wheel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from versiondata.dataclass_fields import Argument, all_fields, classes_of, parse
from versiondata.history import argument_histories

FILES = ["vllm/engine/arg_utils.py", "cli_args.py", "vllm/entrypoints/cli/serve.py"]
_FLAG = re.compile(r"--[a-z][a-z0-9_-]*")


def engine_arguments(sources: Mapping[str, str]) -> dict[str, Argument]:
    """Fields of AsyncEngineArgs, EngineArgs' included; ``sources`` are the texts of FILES by path."""
    return all_fields(classes_of(sources), "AsyncEngineArgs")


def serve_flags(sources: Mapping[str, str]) -> dict[str, Argument]:
    """Flags of `vllm serve` with underscores: those spelled out in the source, and the front end's dataclass fields."""
    spelled = {name for text in sources.values() for name in _spelled_flags(text)}
    return {name: Argument(None) for name in spelled | set(all_fields(classes_of(sources), "FrontendArgs"))}


def _spelled_flags(text: str) -> Iterator[str]:
    """String literals that are a long flag and nothing else: in ``add_argument``, or in a table of flags."""
    tree = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FLAG.fullmatch(node.value):
            yield node.value[2:].replace("-", "_")


def vllm_arguments(per_version: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Content of ``vllm_args.json``; ``per_version`` maps a release to the texts of FILES."""
    engine = {version: engine_arguments(sources) for version, sources in per_version.items()}
    flags = {version: serve_flags(sources) for version, sources in per_version.items()}
    return {
        "versions": list(per_version),
        "classes": {
            "AsyncEngineArgs": {"arguments": argument_histories(engine, {})},
            "serve": {"arguments": argument_histories(flags, {})},
        },
    }
