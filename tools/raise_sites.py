#!/usr/bin/env python3
"""Ask the post-mortem about every error that a library raises with a sentence of its own.

Much of what ends runs is a sentence that a library's author wrote: `raise ValueError(f"...")`, `assert x, "..."`,
`parser.error("...")`, `sys.exit("...")`, `logger.error("...")` before an exit. This reads them from a tree, fills their
placeholders with plausible values, makes a training script's traceback through that file of each, and counts for
how many the post-mortem names a problem. What stays unknown is the list of what the catalogue could learn; what is
named is worth reading for answers that do not fit.

    python tools/raise_sites.py .venv/lib/python3.11/site-packages/trl --list unknown
    python tools/raise_sites.py PATH/peft --only 'peft/tuners/lora/*' 'peft/config.py' --list all
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

NAMED, UNKNOWN, SILENT = "named", "unknown", "silent"
_SKIPPED = {"tests", "test", "testing", "docs", "examples_test", "__pycache__", ".git", "third_party", "conftest.py"}
_ENDS = {"exit", "_exit", "quit"}

_COUNT = "\x00"  # counts differ from each other, for two that are equal are no error: the next of _COUNTS
_COUNTS = (8, 6, 5, 7, 12, 9, 10, 11)

#: what a placeholder's name holds -> what it is likely to be; the first that fits
_VALUES: tuple[tuple[str, object], ...] = (
    (r"version", "0.9.2"),
    (r"model_type", "qwen3_next"),
    (r"__name__|class_name|cls_name|architecture", "Qwen2ForCausalLM"),
    (r"^type\(|__class__|dtype", "<class 'list'>"),
    (r"len\(|num_|_num|count|size|steps|length|rank|world|idx|index|_id\b|dim|shape|degree|batch", _COUNT),
    (r"\bport|_port", 29500),
    (r"url|host|addr|endpoint", "http://localhost:8000"),
    (r"path|dir|file|folder|checkpoint|ckpt", "/home/user/outputs/checkpoint-100"),
    (r"keys|columns|names|list|set\(|supported|allowed|valid|choices|missing|unexpected|params|modules|targets",
     ["q_proj", "v_proj"]),
    (r"device", "cuda:0"),
    (r"model|repo", "Qwen/Qwen2.5-0.5B"),
    (r"name|key|arg|param|module|attr|type|mode|method|strategy|backend|value|option", "q_proj"),
    (r"err|exc|\be\b|ex\b", "No such file or directory"),
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    """Where a library raises, and what would stand in a log."""

    file: str
    line: int
    owner: str
    code: str
    kind: str
    text: str

    @property
    def log(self) -> str:
        """A GRPO script's output that ends in this error."""
        path = f"/home/user/.venv/lib/python3.11/site-packages/{self.file}"
        if self.kind == "usage":
            return f"usage: train_grpo.py [-h] [--model_name_or_path MODEL]\ntrain_grpo.py: error: {self.text}\n"
        if self.kind in ("log", "exit"):
            return f"{'ERROR ' if self.kind == 'log' else ''}{self.text}\n"
        return (
            "Traceback (most recent call last):\n"
            '  File "/home/user/train_grpo.py", line 88, in <module>\n    main()\n'
            '  File "/home/user/train_grpo.py", line 71, in main\n    trainer = build(args)\n'
            "              ^^^^^^^^^^^\n"
            f'  File "{path}", line {self.line}, in {self.owner}\n    {self.code}\n'
            f"{self.kind}: {self.text}\n"
        )


def sites_of(root: Path, only: Iterable[str] = ()) -> list[Site]:
    """Every site below a package's folder (or in one file), in order; the same sentence of one file once."""
    root = root.resolve()
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    found: dict[tuple[str, str, str], Site] = {}
    for path in files:
        name = path.relative_to(root.parent).as_posix()
        if _SKIPPED.intersection(path.relative_to(root.parent).parts):
            continue
        if only and not any(fnmatch.fnmatch(name, each) for each in only):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError:
            continue
        for site in _Reader(name).read(tree):
            found.setdefault((site.file, site.kind, site.text), site)
    return list(found.values())


class _Reader(ast.NodeVisitor):
    """Collects the sites of one file; knows the function it is in and the strings that were assigned there."""

    def __init__(self, file: str) -> None:
        self.file, self.found = file, list[Site]()
        self._owner, self._strings = ["<module>"], [dict[str, ast.expr]()]

    def read(self, tree: ast.Module) -> list[Site]:
        self.visit(tree)
        return self.found

    def _inside(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._owner.append(node.name)
        self._strings.append({**self._strings[0]})
        self.generic_visit(node)
        self._owner.pop()
        self._strings.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = _inside  # noqa: N815 - names that ast asks for

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._strings[-1][target.id] = node.value
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id in self._strings[-1]:
            before = self._strings[-1][node.target.id]
            self._strings[-1][node.target.id] = ast.BinOp(before, ast.Add(), node.value)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        call = node.exc
        if isinstance(call, ast.Call) and call.args:
            kind = ast.unparse(call.func).rpartition(".")[2]
            if kind[:1].isupper():
                self._add(node, kind, call.args[-1] if kind == "ArgumentError" else call.args[0])

    def visit_Assert(self, node: ast.Assert) -> None:
        if node.msg is not None:
            self._add(node, "AssertionError", node.msg)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        if node.args and re.search(r"parser\.error$", called):
            self._add(node, "usage", node.args[0])
        elif node.args and called == "sys.exit":
            self._add(node, "exit", node.args[0])
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                self._logged(block)
        super().generic_visit(node)

    def _logged(self, block: list[ast.stmt]) -> None:
        """`logger.error("...")` with an exit behind it in the same block."""
        for at, each in enumerate(block):
            call = each.value if isinstance(each, ast.Expr) else None
            if not isinstance(call, ast.Call) or not call.args:
                continue
            if re.search(r"log\w*\.(error|critical|fatal)$", ast.unparse(call.func)) and _exits(block[at + 1 :]):
                self._add(each, "log", call.args[0])

    def _add(self, node: ast.stmt | ast.Call, kind: str, said: ast.expr) -> None:
        text = _text(said, self._strings[-1])
        if text and re.search(r"[A-Za-z]{3}.*[ _]", text):
            code = ast.unparse(node).partition("\n")[0][:90]
            code = re.sub(r"\(f?['\"].*", "(", code)
            self.found.append(Site(self.file, node.lineno, self._owner[-1], code, kind, _counted(text.strip())))


def _exits(block: list[ast.stmt]) -> bool:
    calls = [each.value for each in block if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    return any(ast.unparse(each.func).rpartition(".")[2] in _ENDS for each in calls) or any(
        isinstance(each, ast.Raise) and "SystemExit" in ast.unparse(each) for each in block
    )


def _text(node: ast.expr, strings: dict[str, ast.expr], deep: int = 0) -> str | None:
    """A string expression with its placeholders filled; None when it is no string that can be read here."""
    if deep > 5:
        return None
    again = partial(_text, strings=strings, deep=deep + 1)
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(each) for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = again(node.left), again(node.right)
        return "".join(each or "" for each in sides) if any(sides) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _percent(again(node.left), node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _called(again(node.func.value), node)
    if isinstance(node, ast.Name) and node.id in strings:
        return again(strings[node.id])
    if isinstance(node, ast.IfExp):
        return again(node.body)
    if isinstance(node, ast.Tuple) and node.elts:
        return again(node.elts[0])
    return None


def _part(node: ast.expr) -> str:
    """One piece of an f-string."""
    if isinstance(node, ast.FormattedValue):
        value = _value(ast.unparse(node.value))
        return repr(value) if node.conversion == ord("r") else str(value)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _percent(text: str | None, values: ast.expr) -> str | None:
    given = iter(values.elts if isinstance(values, ast.Tuple) else [values])
    filled = partial(_next_value, given)
    return text and re.sub(r"%(\(\w+\))?[-+.\d]*[srdfgi]", lambda _: filled(), text)


def _called(text: str | None, call: ast.Call) -> str | None:
    """`"...".format(a, name=b)`; other methods of a string leave it as it is."""
    if text is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "format":
        return text
    named = {each.arg: _value(ast.unparse(each.value)) for each in call.keywords}
    given = iter(call.args)

    def fill(match: re.Match[str]) -> str:
        return str(named[match[1]]) if match[1] in named else _next_value(given)

    return re.sub(r"\{(\w*)[^{}]*\}", fill, text)


def _next_value(given: Iterator[ast.expr]) -> str:
    node = next(given, None)
    return "q_proj" if node is None else str(_value(ast.unparse(node)))


def _counted(text: str) -> str:
    counts = cycle(_COUNTS)
    return re.sub(r"\x00|\\x00", lambda _: str(next(counts)), text)


def _value(expression: str) -> object:
    """What an expression is likely to be, by the words in it."""
    if re.fullmatch(r"'[^']*'|\d+", expression):
        return expression.strip("'")
    return next((value for words, value in _VALUES if re.search(words, expression, re.IGNORECASE)), "q_proj")


@cache
def _prepared() -> Any:
    from doctor.logs.postmortem import prepare

    return prepare()


def ask(sites: list[Site]) -> list[tuple[str, str]]:
    """(result, id and headline) of the post-mortem for each site."""
    from doctor.logs.postmortem import examine

    answers = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "train.log")
        for site in sites:
            log.write_text(site.log, encoding="utf-8")
            diagnosis = examine([str(log)], prepared=_prepared()).diagnosis
            findings = diagnosis.outcome.findings
            result = {"known": NAMED, "unknown": UNKNOWN}.get(diagnosis.verdict or "", SILENT)
            answers.append((result, f"{findings[0].problem.id} {findings[0].words('en').headline}" if findings else ""))
    return answers


def main() -> int:
    """Print what is asked for, then one row of counts for each file's folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="PATH", help="a package's folder, or one file")
    parser.add_argument("--only", nargs="+", default=(), metavar="GLOB", help="files, as package/folder/file.py")
    parser.add_argument("--list", choices=(NAMED, UNKNOWN, SILENT, "all"), help="print these sites")
    chosen = parser.parse_args()
    sites = [site for tree in chosen.trees for site in sites_of(tree, chosen.only)]
    if not sites:
        print("no error with a sentence of its own there", file=sys.stderr)
        return 2
    pieces = [sites[at : at + 100] for at in range(0, len(sites), 100)]
    with ProcessPoolExecutor(max_workers=2) as pool:
        answers = [each for piece in pool.map(ask, pieces) for each in piece]
    counts: dict[str, Counter[str]] = {}
    for site, (result, found) in zip(sites, answers, strict=True):
        counts.setdefault(site.file.rpartition("/")[0], Counter())[result] += 1
        if chosen.list in (result, "all"):
            print(
                f"{result} {found if result == NAMED else ''}\n    {site.file}:{site.line} {site.kind}: {site.text!r}"
            )
    _table(counts)
    return 0


def _table(counts: dict[str, Counter[str]]) -> None:
    print(f"\n{'folder':48}{NAMED:>8}{UNKNOWN:>9}{SILENT:>8}")
    counts["all"] = sum(counts.values(), Counter())
    for folder, each in counts.items():
        share = 100 * each[NAMED] / each.total()
        print(f"{folder:48}{each[NAMED]:>8}{each[UNKNOWN]:>9}{each[SILENT]:>8}   {share:.0f} % named")


if __name__ == "__main__":
    sys.exit(main())
