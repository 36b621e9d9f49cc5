"""What the user asked not to hear: `--ignore`, `doctor.toml`, `[tool.doctor]`, and comments in the script."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome, Skipped
from doctor.catalogue.problem import Problem
from doctor.catalogue.retired_ids import successor
from doctor.facts.script import Script

_WHAT = later(r"[A-Z]{3}([0-9]{3,4}(/[a-z0-9_]+)?)?|[a-z0-9]+(-[a-z0-9]+)+")


class SettingsError(Exception):
    """The user's doctor settings cannot be read; the message names file and key."""


@record
class Ignored:
    """An id, a name or the three letters of an area, and why it is ignored."""

    what: str
    reason: str
    source: str = field(default="", compare=False)  # the file or option that names it

    def covers(self, problem: Problem) -> bool:
        """Whether this asks to be silent about a problem, under its own name or one that it had before."""
        return problem.goes_by(successor(self.what) or self.what)


def from_options(values: Iterable[str]) -> list[Ignored]:
    """`--ignore VLL001` or `--ignore VLL001,TRL` or `--ignore "GPU004=reset is planned"`.

    Raises:
        SettingsError: it looks like no id, name or area.

    """
    ignored = []
    for value in values:
        what, _, reason = value.partition("=")
        ignored += [_one(each.strip(), reason or "--ignore", "--ignore") for each in what.split(",") if each.strip()]
    return ignored


def _one(what: str, reason: str, source: str) -> Ignored:
    if not _WHAT.fullmatch(what):
        msg = f"{source}: `{what}` is neither an id (VLL001), nor a name, nor an area's letters (VLL)"
        raise SettingsError(msg)
    return Ignored(what, reason, source)


def settings_of(folder: Path) -> tuple[Mapping[str, Any], str]:
    """The nearest `doctor.toml` or `[tool.doctor]` at or above `folder`, and its path.

    Raises:
        SettingsError: the file is malformed TOML, or holds no table or an unknown key.

    """
    for each in (folder, *folder.parents):
        for name, keys in (("doctor.toml", ()), ("pyproject.toml", ("tool", "doctor"))):
            path = each / name
            if not path.is_file():
                continue
            data = _toml(path, strict=name == "doctor.toml")
            for key in keys:
                data = data.get(key, {}) if isinstance(data, dict) else {}
            if data:
                return _known(data, path), str(path)
        if (each / ".git").exists():
            break
    return {}, ""


def _toml(path: Path, *, strict: bool) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = path.read_bytes()
        if not strict and b"tool.doctor" not in text:
            return {}
        return tomllib.loads(text.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        msg = f"{path}: {exc}"
        raise SettingsError(msg) from None


def _known(data: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        msg = f"{path}: `tool.doctor` must be a table"
        raise SettingsError(msg)
    unknown = set(data) - {"ignore", "strict", "lang", "guard", "monitor"}
    if unknown:
        msg = f"{path}: unknown key `{min(unknown)}`; known are ignore, strict, lang"
        raise SettingsError(msg)
    return data


def from_settings(data: Mapping[str, Any], path: str) -> list[Ignored]:
    """`ignore = ["VLL001"]` or `ignore = {VLL001 = "reason"}`.

    Raises:
        SettingsError: `ignore` is something else.

    """
    value = data.get("ignore", [])
    if isinstance(value, dict):
        return [_one(str(what), str(reason), path) for what, reason in value.items()]
    if isinstance(value, list):
        return [_one(str(what), path, path) for what in value]
    msg = f"{path}: `ignore` must be a list of ids or a table id = reason"
    raise SettingsError(msg)


def unknown_names(ignored: Iterable[Ignored], entries: Mapping[str, Entry]) -> Iterator[str]:
    """One sentence for each thing to be ignored that names no problem: a slip would go unnoticed for ever."""
    names = {word for entry in entries.values() for word in (entry.id, entry.name, entry.id[:3])}
    for each in ignored:
        if each.what in names:
            continue
        if new := successor(each.what):
            yield f"{each.source}: `{each.what}` is now called `{new}`"
            continue
        from difflib import get_close_matches

        near = get_close_matches(each.what, names, n=1)
        hint = f", the nearest is `{near[0]}`" if near else ""
        yield f"{each.source}: `{each.what}` is not a problem of the doctor, so it ignores nothing{hint}"


def in_script(script: Script) -> list[Ignored]:
    """What comments of the script name."""
    return [
        Ignored(each.id, each.reason, f"{script.path}:{each.line}" if each.line else script.path)
        for each in script.ignores
    ]


def suppress(outcome: Outcome, ignored: Iterable[Ignored], script: Script | None) -> Outcome:
    """Move what the user asked not to hear from the findings to the skips, with the reason."""
    ignored = list(ignored)
    kept: list[Finding] = []
    skipped = list(outcome.skipped)
    for finding in outcome.findings:
        reason = _reason(finding, ignored, script)
        if reason is None:
            kept.append(finding)
        else:
            skipped.append(Skipped(finding.problem.id, f"ignored: {reason}", ignored=True))
    return replace(outcome, findings=tuple(kept), skipped=tuple(dict.fromkeys(skipped)))


def _reason(finding: Finding, ignored: list[Ignored], script: Script | None) -> str | None:
    problem = finding.problem
    for each in ignored:
        if each.covers(problem):
            return each.reason
    if script is None:
        return None
    for comment in script.ignores:
        here = finding.where.file == script.path and finding.where.line == comment.line
        named = (successor(comment.id) or comment.id) in (problem.id, problem.family)
        if named and (comment.line is None or here):
            return comment.reason or "comment in the script"
    return None
