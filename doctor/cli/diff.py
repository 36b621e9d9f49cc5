"""`doctor diff`: what changed since it last worked."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doctor.base.json_text import json_text
from doctor.cli import options

if TYPE_CHECKING:
    from doctor.base.change import Change

_HEADS = {"en": ("what", "before", "after"), "zh": ("内容", "之前", "之后")}
_MORE = {
    "en": "{count} more differences: `doctor diff --all` shows them.",
    "zh": "另有 {count} 项差异:`doctor diff --all` 全部列出。",
}
#: differences of one kind, other than versions, that are shown
_MOST_OF_A_KIND = 5
_ALIKE = {"en": "No differences.", "zh": "没有差异。"}


@click.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--python", metavar="PATH", help="The interpreter to compare with, when AFTER is now.")
@click.option("--all", "everything", is_flag=True, help="Every difference, not the first of each kind.")
@click.option("--format", "form", type=click.Choice(("text", "json", "markdown")), default="text", show_default=True)
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(before: Path, after: Path | None, python: str | None, everything: bool, form: str, lang: str | None) -> int:
    """Compare two saved environments, or a saved one with this machine now.

    Versions come first; of other differences, the first of each kind are shown.

    BEFORE and AFTER are files of `doctor check --save-facts` or pasted reports. Exit code 1 when they differ.

    \b
    doctor check --save-facts works.json           today, while it works ...
    doctor diff works.json                         ... and when it no longer does
    doctor diff this-node.json that-node.json
    """
    from doctor.diagnosis.differ import by_weight, differences

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    old = _read(before)
    changes = by_weight(differences(old, _read(after) if after else _now(old, python)))
    if form == "json":
        click.echo(json_text([_row(each) for each in changes], indent=2))
    elif form == "markdown":
        click.echo("| {} | {} | {} |\n|---|---|---|".format(*_HEADS[language]))
        for each in changes:
            click.echo(f"| {_name(each)} | {_short(each.old)} | {_short(each.new)} |")
    elif changes:
        from doctor.render.console import console_for, draw_table

        shown = changes if everything else _few(changes)
        lines = [(_name(each), _short(each.old), _short(each.new)) for each in shown]
        draw_table(lines, _HEADS[language], console_for(sys.stdout))
        if len(shown) < len(changes):
            click.echo(_MORE[language].format(count=len(changes) - len(shown)))
    else:
        click.echo(_ALIKE[language])
    return 1 if changes else 0


def _few(changes: list[Change]) -> list[Change]:
    """All versions, and the first few of every other kind."""
    kept, counts = [], dict[str, int]()
    for each in changes:
        name = each.input.name
        kind = re.sub(r"\[\d+\].*", "", name) if "[" in name else name.partition(".")[0]
        is_version = name.endswith(".version")
        counts[kind] = counts.get(kind, 0) + (not is_version)
        if is_version or counts[kind] <= _MOST_OF_A_KIND:
            kept.append(each)
    return kept


def _read(path: Path) -> Mapping[str, Any]:
    from doctor.readers.saved import NotFacts, read

    try:
        return read(path)[0].states
    except (NotFacts, OSError) as exc:
        raise click.UsageError(str(exc)) from None


def _now(old: Mapping[str, Any], python: str | None) -> Mapping[str, Any]:
    """The same facts as the saved file holds, of this machine now."""
    from doctor.base.fact import Context
    from doctor.cli.check import refuse_wrong_python
    from doctor.diagnosis.diagnose import Patient, examine

    context = Context((), Path.cwd(), dict(os.environ), python)
    refuse_wrong_python(context)
    names = [name for name, state in old.items() if state.status == "ok"]
    states = examine(context, Patient(), names).states
    return {name: state for name, state in states.items() if name in names}


def _row(change: Change) -> dict[str, Any]:
    fact, _, path = change.input.name.partition(".")
    return {"fact": fact, "path": path, "before": change.old, "after": change.new}


def _name(change: Change) -> str:
    fact, _, path = change.input.name.partition(".")
    return f"{fact} {path.removeprefix('distributions.').removesuffix('.version')}".strip()


def _short(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, Mapping) and isinstance(value.get("version"), str):  # a package that only one side has
        return str(value["version"])
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= 60 else text[:57] + "..."
