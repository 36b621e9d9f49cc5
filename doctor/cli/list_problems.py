"""`doctor list`: the catalogue."""

from __future__ import annotations

import sys
from typing import Any

import click

from doctor.base.json_text import json_text


@click.command()
@click.argument("area", required=False)
@click.option("--format", "form", type=click.Choice(("text", "json", "markdown")), default="text", show_default=True)
def command(area: str | None, form: str) -> int:
    """List the problems the doctor knows; AREA is a folder (vllm) or the letters of its ids (VLL).

    \b
    doctor list
    doctor list nccl
    doctor list --format json | jq -r .[].id
    """
    from doctor import data
    from doctor.catalogue.index import load, problems
    from doctor.catalogue.problem import AREAS

    parts: dict[str, list[Any]] = {}
    for each in load():
        parts.setdefault(each.family, []).append(each)
    entries = [each for each in problems() if area is None or _is_of(area, parts[each.id])]
    if not entries:
        msg = f"There is no area `{area}`. Areas: {', '.join(AREAS)}."
        raise click.UsageError(msg)
    how = [" ".join(_ways(parts[each.id])) for each in entries]
    if form == "json":
        keys = ("id", "name", "area", "severity", "since", "title", "affects", "detectors")
        rows = [
            (each.id, each.name, each.area, each.severity.value, each.since, each.title, dict(each.affects), by.split())
            for each, by in zip(entries, how, strict=True)
        ]
        click.echo(json_text([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return 0
    if form == "markdown":
        click.echo("| id | name | severity | what |\n|---|---|---|---|")
        for each in entries:
            click.echo(f"| {each.id} | {each.name} | {each.severity.value} | {each.title} |")
        return 0
    from doctor.render.console import console_for, draw_table

    console = console_for(sys.stdout)
    lines = [(each.id, each.severity.value, each.title) for each in entries]
    draw_table(lines, ("id", "severity", "problem"), console)
    newest = ", ".join(f"{name} {data.newest(name)}" for name in ("trl", "vllm", "torch", "deepspeed", "transformers"))
    click.echo(f"\n{len(entries)} problems. Version knowledge of {data.built():%Y-%m-%d}: {newest}.")
    return 0


def _is_of(area: str, parts: list[Any]) -> bool:
    """Whether a problem, or a row of it, is of an area: its folder or its letters."""
    from doctor.catalogue.problem import AREAS

    folders = {folder for each in parts for folder in (each.area, each.about) if folder}
    return area.lower() in folders or area.upper() in {AREAS[folder] for folder in folders if folder in AREAS}


def _ways(parts: list[Any]) -> list[str]:
    """How a problem, or any row of it, is found."""
    ways = {
        "check": any(each.checks for each in parts),
        "rule": any(each.has_rule for each in parts),
        "log": any(each.has_signatures for each in parts),
    }
    return [name for name, has in ways.items() if has]
