"""Adds to vLLM's installed demo server the line that it lacks, as vLLM 0.9.0 did.

Facts: https://github.com/vllm-project/vllm/pull/17434. The place is found in the syntax tree, never by line number.
"""

from __future__ import annotations

import ast
from pathlib import Path

from doctor.base.record import replace
from doctor.catalogue.fix import fix
from doctor.catalogue.plan import Edit, Plan, Refused, Safety, edit
from doctor.checks.vllm.serving.api_server_engine_client import PROBLEM
from doctor.facts.packages import Packages

FILE = Path("entrypoints", "api_server.py")


@fix(PROBLEM)
def api_server_engine_client(packages: Packages) -> Plan | None:
    """Plan it for the vLLM that the interpreter imports; the file is shared by all who use that environment."""
    folder = packages.modules.get("vllm")
    if folder is None:
        return None
    path = Path(folder).parent / FILE if folder.endswith(".py") else Path(folder) / FILE
    if not path.is_file():
        return None
    step = edit(str(path), missing_line(path.read_bytes(), str(path)))
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (replace(step, own_copy=True),),
        "Restart every `vllm.entrypoints.api_server` that runs from this environment. An upgrade of vLLM replaces the "
        "file; from 0.9.0 the line is there.",
        "请重启由该环境运行的所有 `vllm.entrypoints.api_server`。升级 vLLM 会替换此文件;自 0.9.0 起已包含这一行。",
    )


def missing_line(source: bytes, path: str) -> Edit:
    """The insertion before `return app` of `init_app`, which has put the engine into a global.

    Raises:
        Refused: it is another file than the one that vLLM 0.8.5 ships.

    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        raise _not_recognised(path) from None
    if any(isinstance(each, ast.Attribute) and each.attr == "engine_client" for each in ast.walk(tree)):
        msg = f"`{path}` sets `engine_client` already"
        raise Refused(msg)
    makes = [each for each in tree.body if isinstance(each, ast.AsyncFunctionDef) and each.name == "init_app"]
    if len(makes) != 1 or not _fits(makes[0]):
        raise _not_recognised(path)
    last = makes[0].body[-1]
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: last.lineno - 1]))
    end = "\r\n" if lines[last.lineno - 1].endswith(b"\r\n") else "\n"
    return Edit(start, start, f"{' ' * last.col_offset}app.state.engine_client = engine{end}")


def _fits(function: ast.AsyncFunctionDef) -> bool:
    """`global engine`, `app` and `engine` assigned, `return app` at the end on a line of its own."""
    last = function.body[-1]
    assigned = {
        target.id
        for each in function.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    return (
        any(isinstance(each, ast.Global) and "engine" in each.names for each in function.body)
        and {"app", "engine"} <= assigned
        and isinstance(last, ast.Return)
        and isinstance(last.value, ast.Name)
        and last.value.id == "app"
        and last.lineno > (function.body[-2].end_lineno or 0)
    )


def _not_recognised(path: str) -> Refused:
    return Refused(f"`{path}` is not the file that vLLM 0.8.5 ships; nothing was changed")
