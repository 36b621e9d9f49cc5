"""Make doctor/data/framework_keys.json: the configuration keys of training frameworks by release.

    python tools/build_framework_keys.py --mirrors DIR [--only FRAMEWORK]

With `--only`, what the data hold of the others stays. DIR holds a clone a repository with its tags, `owner+name` (or
`owner+name/repo`). Files are read from git as text: annotated fields of classes, options of argparse, keys of YAML.
Names alone are kept, with the first and the last release that has them: one set a framework, for most keys have one
meaning wherever they stand.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import tomllib
import yaml
from packaging.version import Version

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from newpython import parse  # noqa: E402 - beside this file

TARGET = HERE.parent / "doctor" / "data" / "framework_keys.json"


def git(repository: Path, *words: str) -> str:
    """What git prints."""
    command = ["git", f"--git-dir={repository}", *words]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def releases(repository: Path, pattern: str, oldest: str) -> list[tuple[str, str]]:
    """(version, tag) of final releases, oldest first."""
    found = {match[1]: tag for tag in git(repository, "tag").split() if (match := re.fullmatch(pattern, tag))}
    return sorted(
        ((each, tag) for each, tag in found.items() if Version(each) >= Version(oldest)), key=lambda it: Version(it[0])
    )


def names_at(repository: Path, commit: str, patterns: list[str]) -> set[str]:
    """Keys that the files of one commit declare."""
    paths = git(repository, "ls-tree", "-r", "--name-only", commit).splitlines()
    wanted = [
        path for path in paths if any(fnmatch(path, each) and path.count("/") == each.count("/") for each in patterns)
    ]
    found: set[str] = set()
    for path in wanted:
        text = git(repository, "show", f"{commit}:{path}")
        found.update(of_python(text, f"{commit}:{path}") if path.endswith(".py") else of_yaml(text))
    return {each for each in found if re.fullmatch(r"[A-Za-z]\w{1,80}", each)}


def of_python(text: str, path: str = "") -> Iterator[str]:
    """Annotated fields of classes, their aliases, and options of argparse.

    Raises:
        SyntaxError: it cannot be read; a release without its names would be one that lacks them.

    """
    tree = parse(text, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield each.target.id
        elif isinstance(node, ast.keyword) and node.arg in {"alias", "validation_alias"}:
            yield from (part.value for part in ast.walk(node.value) if _is_text(part))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            for part in filter(_is_text, node.args):
                yield from part.value.lstrip("-").replace("-", "_").split(".")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def of_yaml(text: str) -> Iterator[str]:
    """Every key of every mapping."""
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return
    while documents:
        each = documents.pop()
        if isinstance(each, Mapping):
            yield from map(str, each)
            documents.extend(each.values())
        elif isinstance(each, list):
            documents.extend(each)


def history(repository: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Releases, and each name with the first and the last of them that has it (None: the newest commit still does)."""
    tags = releases(repository, entry["release"], entry["oldest"])
    seen: dict[str, list[int]] = {}
    for index, (_, tag) in enumerate(tags):
        for name in names_at(repository, tag, entry["paths"]):
            seen.setdefault(name, [index, index])[1] = index
    newest = git(repository, "rev-parse", "HEAD").strip()
    now = names_at(repository, newest, entry["paths"])
    keys: dict[str, list[int | None]] = {}
    for name in sorted({*seen, *now}):
        first, last = seen.get(name, [len(tags), len(tags)])
        keys[name] = [first, None if name in now else last]
    source = f"https://github.com/{entry['repository']}/tree/{newest}"
    return {"source": source, "releases": [version for version, _ in tags], "keys": keys}


def main() -> None:
    """Read every repository and write the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--only", metavar="FRAMEWORK")
    given = parser.parse_args()
    mirrors, only = given.mirrors, given.only
    made: dict[str, Any] = {"schema": "doctor-data/1", "made_by": "tools/build_framework_keys.py", "frameworks": {}}
    before = json.loads(TARGET.read_text("utf-8"))["frameworks"] if only else {}
    for name, entry in tomllib.loads((HERE / "frameworkkeys.toml").read_text("utf-8")).items():
        if only and name != only:
            made["frameworks"][name] = before[name]
            continue
        base = mirrors / entry["repository"].replace("/", "+")
        repository = next(each for each in (base / "repo", base / ".git", base) if each.exists())
        made["frameworks"][name] = history(repository, entry)
        one = made["frameworks"][name]
        print(f"{name}: {len(one['releases'])} releases, {len(one['keys'])} keys")
    TARGET.write_text(
        json.dumps(made, separators=(",", ":"), sort_keys=True).replace('"keys"', '\n"keys"') + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
