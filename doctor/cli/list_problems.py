"""`doctor list`: the catalogue."""

from __future__ import annotations

import json
import sys

import click


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
    from doctor.core.index import load
    from doctor.core.problem import AREAS

    entries = [each for each in load() if area is None or area.lower() == each.area or area.upper() == each.id[:3]]
    if not entries:
        msg = f"There is no area `{area}`. Areas: {', '.join(AREAS)}."
        raise click.UsageError(msg)
    how = [
        " ".join(
            name for name, has in (("check", each.checks), ("rule", each.has_rule), ("log", each.has_signatures)) if has
        )
        for each in entries
    ]
    if form == "json":
        keys = ("id", "name", "area", "severity", "since", "title", "affects", "detectors")
        rows = [
            (each.id, each.name, each.area, each.severity.value, each.since, each.title, dict(each.affects), by.split())
            for each, by in zip(entries, how, strict=True)
        ]
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2, ensure_ascii=False))
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
