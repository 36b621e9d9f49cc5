"""SGLang: the flags of `sglang.launch_server`, from server_args.py and its groups of fields in each wheel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from versiondata.dataclass_fields import Argument, parse
from versiondata.history import argument_histories

SOURCE = "https://github.com/sgl-project/sglang"
SERVER = "sglang/srt/server_args.py"
GROUPS = "sglang/srt/arg_groups/"
_FLAG = re.compile(r"--[a-z][a-z0-9_-]*")
_FIELD = re.compile(r"[a-z][a-z0-9_]*")


def is_wanted(name: str) -> bool:
    """Whether a member of a wheel declares flags."""
    return name == SERVER or (name.startswith(GROUPS) and name.endswith(".py"))


def launch_flags(sources: Mapping[str, str]) -> dict[str, Argument]:
    """Flags with underscores: those spelled out, and the fields of dataclasses, from which releases derive them.

    A field without a flag is taken for one: a flag too many hides a mistake, one too few would invent it.
    """
    names = {name for text in sources.values() for name in _names(text)}
    return {name: Argument(None) for name in sorted(names)}


def _names(text: str) -> Iterator[str]:
    tree = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FLAG.fullmatch(node.value):
            yield node.value[2:].replace("-", "_")
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                target = each.target if isinstance(each, ast.AnnAssign) else None
                if isinstance(target, ast.Name) and _FIELD.fullmatch(target.id):
                    yield target.id


def sglang_arguments(per_version: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Content of ``sglang_args.json``; ``per_version`` maps a release to the texts of its files."""
    flags = {version: launch_flags(sources) for version, sources in per_version.items()}
    return {"versions": list(per_version), "classes": {"launch_server": {"arguments": argument_histories(flags, {})}}}
