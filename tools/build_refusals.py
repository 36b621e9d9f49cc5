"""Make doctor/data/refused/*.json.gz: under which settings the releases of libraries refuse to start.

    python tools/build_refusals.py --mirrors DIR --cache DIR [--only NAME]

`--mirrors` holds a clone a repository with its tags, `owner+name` (or `owner+name/repo`); `--cache` the sources of
releases of the index that make_api_history.py keeps. Validators are read as text and followed statement by statement
(tools/refusals); what remains of them is the condition, the settings' defaults, and the line where it stands.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import tomllib
import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from build_framework_keys import git, releases  # noqa: E402 - beside this file
from refusals.classes import Release, Rule, asked  # noqa: E402 - beside this file

from doctor.readers.script.formulas import Expr, names  # noqa: E402 - beside this file

TARGET = HERE.parent / "doctor" / "data" / "refused"
Scopes = dict[str, tuple[dict[str, Any], list[Rule]]]


def files_at(repository: Path, tag: str, patterns: list[str]) -> dict[str, str]:
    """Text of the files of a tag, by path."""
    paths = git(repository, "ls-tree", "-r", "--name-only", tag).splitlines()
    return {path: git(repository, "show", f"{tag}:{path}") for path in paths if _wanted(path, patterns)}


def _wanted(path: str, patterns: list[str]) -> bool:
    return any(fnmatch(path, each) and path.count("/") == each.count("/") for each in patterns)


def files_in(archive: Path, patterns: list[str]) -> dict[str, str]:
    """Text of the files of a release of the index."""
    with zipfile.ZipFile(archive) as kept:
        return {each: kept.read(each).decode("utf-8", "replace") for each in kept.namelist() if _wanted(each, patterns)}


def scopes_of(files: Mapping[str, str], entry: Mapping[str, Any]) -> Scopes:
    """(defaults, rules) of each scope of one release."""
    sources = {path: text for path, text in files.items() if path.endswith(".py")}
    release = Release(sources, entry.get("altered", ()), enums=entry.get("enums", "values"))
    found: Scopes = {**_of_classes(release, entry), **_of_programs(release, entry), **_of_trees(release, entry)}
    if entry.get("model_types"):
        found |= release.of_model_types()
    defaults, rules = _of_one_level(release, entry)
    for path, text in files.items():
        if path.endswith(".yaml"):
            defaults |= dict(_flat(yaml.safe_load(text)))
    if rules:
        found[""] = (defaults, rules)
    return {scope: (kept, _stripped(rules, entry.get("strip", ""))) for scope, (kept, rules) in found.items() if rules}


def _of_classes(release: Release, entry: Mapping[str, Any]) -> Scopes:
    """Classes of settings, and trainers that check those that they are given."""
    found: Scopes = {}
    for name in release.classes:
        if any(fnmatch(name, each) for each in entry.get("classes", ())):
            rules = [rule for method in _methods(entry) for rule in release.of_class(name, method=method)]
            found[name] = (release.defaults(name), rules)
        elif any(fnmatch(name, each) for each in entry.get("trainers", ())):
            found[name] = ({}, release.of_function("__init__", {"args": ""}, name))
    return found


def _of_programs(release: Release, entry: Mapping[str, Any]) -> Scopes:
    """Programs that check what their parser gave."""
    return {
        each.path.removesuffix(".py").replace("/", "."): (each.arguments, release.of_main(each))
        for each in release.modules
        if each.main and any(fnmatch(each.path, pattern) for pattern in entry.get("main", ()))
    }


def _of_trees(release: Release, entry: Mapping[str, Any]) -> Scopes:
    """Classes that hold others, each of which checks its own part."""
    found: Scopes = {}
    for scope, name in entry.get("trees", {}).items():
        if scope == "defaults" or name not in release.classes:
            continue
        rules = [
            rule
            for inner, prefix, filled in release.places(name)
            for method in _methods(entry)
            for rule in release.of_class(inner, prefix, method, filled)
        ]
        found[scope] = (release.defaults(name), rules)
    return found


def _methods(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return ("__post_init__", *entry.get("also", ()))


def _of_one_level(release: Release, entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[Rule]]:
    """What has no scope of its own: all settings lie on one level, or are named in full."""
    defaults: dict[str, Any] = {}
    rules: list[Rule] = []
    for name in filter(release.classes.__contains__, entry.get("flat", ())):
        defaults |= release.defaults(name)
        rules += release.of_class(name)
    for name, roots in entry.get("functions", {}).items():
        rules += release.of_function(name, roots)
    for path, roots in entry.get("methods", {}).items():
        owner, _, name = path.partition(".")
        rules += release.of_function(name, roots, owner) if owner in release.classes else []
    for each in release.modules if entry.get("functions") else ():
        defaults |= each.arguments
    whole = entry.get("trees", {}).get("defaults")
    return defaults | (release.defaults(whole) if whole in release.classes else {}), rules


def _flat(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, (str, int, float, bool, type(None))) and "${" not in str(value):
            yield f"{prefix}{key}", value


def _stripped(rules: list[Rule], start: str) -> list[Rule]:
    def named(expr: Expr) -> Expr:
        if not isinstance(expr, list):
            return expr
        if expr[0] in ("n", "g", "s"):
            return [expr[0], expr[1].removeprefix(start), *expr[2:]]
        return [expr[0], *map(named, expr[1:])]

    kept = [(named(condition), kind, place) for condition, kind, place in rules] if start else rules
    return [rule for rule in kept if names(rule[0]) and not any(each.startswith("@") for each in names(rule[0]))]


def history(versions: list[str], read: Iterable[Scopes]) -> dict[str, Any]:
    """Scopes with defaults and rules, each with the spans of releases that have it."""
    kept: dict[str, Any] = {}
    for index, scopes in enumerate(read):
        for scope, (defaults, rules) in scopes.items():
            one = kept.setdefault(scope, {"defaults": {}, "rules": {}})
            for condition, kind, place in rules:
                rule = one["rules"].setdefault(json.dumps(condition), {"kind": kind, "at": []})
                rule["place"] = place
                if index not in rule["at"]:
                    rule["at"].append(index)
            for name in sorted(asked(rules) & defaults.keys()):
                one["defaults"].setdefault(name, {}).setdefault(json.dumps(defaults[name]), []).append(index)
    newest = len(versions) - 1
    return {scope: _compact(one, newest) for scope, one in sorted(kept.items())}


def _compact(one: Mapping[str, Any], newest: int) -> dict[str, Any]:
    rules = [[_spans(rule["at"], newest), rule["place"], json.loads(text)] for text, rule in one["rules"].items()]
    defaults = {
        name: [[_spans(at, newest), json.loads(value)] for value, at in values.items()]
        for name, values in one["defaults"].items()
    }
    return {"defaults": defaults, "rules": rules}


def _spans(positions: list[int], newest: int) -> str:
    """`0-3,7-`: the first and the last of neighbours; nothing behind the dash where the newest is among them."""
    groups: list[list[int]] = []
    for each in positions:
        if groups and each == groups[-1][1] + 1:
            groups[-1][1] = each
        else:
            groups.append([each, each])
    return ",".join(f"{first}-{'' if last == newest else last}" for first, last in groups)


def library(entry: Mapping[str, Any], mirrors: Path, cache: Path) -> dict[str, Any]:
    """All releases of one library."""
    if "index" in entry:
        from apihistory.packages import LIBRARIES
        from apihistory.sources import SourceStore
        from versiondata.index import Index

        known = next(each for each in LIBRARIES if each.name == entry["index"])
        known = replace(known, since=entry.get("since", known.since))
        store = SourceStore(cache / "src", Index(cache / "cache", offline=True))
        versions = [each for each in store.versions(known) if store.path(known, each).exists()]
        read = (scopes_of(files_in(store.path(known, each), entry["paths"]), entry) for each in versions)
        found = history([str(each) for each in versions], read)
        source = entry.get("source", "")
        return {"versions": [str(each) for each in versions], "every": known.every, "source": source, "scopes": found}
    base = mirrors / entry["repository"].replace("/", "+")
    repository = next(each for each in (base / "repo", base / ".git", base) if each.exists())
    tags = releases(repository, entry["release"], entry["oldest"])
    read = (scopes_of(files_at(repository, tag, entry["paths"]), entry) for _, tag in tags)
    found = history([version for version, _ in tags], read)
    return {"versions": [version for version, _ in tags], "every": "release", "tags": [tag for _, tag in tags],
            "source": f"https://github.com/{entry['repository']}/blob/", "scopes": found}  # fmt: skip


def main() -> None:
    """Read every library and write the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", metavar="NAME")
    options = parser.parse_args()
    TARGET.mkdir(exist_ok=True)
    for name, entry in tomllib.loads((HERE / "refusals.toml").read_text("utf-8")).items():
        if options.only not in (None, name):
            continue
        made = {"schema": "doctor-refusals/1", **library(entry, options.mirrors, options.cache)}
        text = json.dumps(made, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
        packed = gzip.compress(text.encode(), 9, mtime=0)
        (TARGET / f"{name}.json.gz").write_bytes(packed)
        rules = sum(len(each["rules"]) for each in made["scopes"].values())
        print(f"{name}: {len(made['versions'])} releases, {rules} conditions, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
