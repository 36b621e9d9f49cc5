"""`doctor explain`: the manual of a problem, from its file's docstring."""

from __future__ import annotations

import json
import sys

import click

from doctor.cli.app import USAGE


@click.command()
@click.argument("problem")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text", show_default=True)
def command(problem: str, form: str) -> int:
    """Print the manual of a problem, by id (VLL001) or name (api-server-engine-client).

    \b
    doctor explain VLL001
    doctor explain grpo-batch-not-divisible --format markdown
    """
    from doctor.core.explain import manual
    from doctor.core.index import load
    from doctor.core.retired_ids import RETIRED

    wanted = RETIRED.get(problem.upper(), problem)
    entries = load()
    entry = next((each for each in entries if wanted in (each.name, each.id) or wanted.upper() == each.id), None)
    if entry is None:
        from difflib import get_close_matches

        names = [each.id for each in entries] + [each.name for each in entries]
        near = get_close_matches(problem.upper(), names, n=3) or get_close_matches(problem.lower(), names, n=3)
        hint = f" Near it: {', '.join(near)}." if near else ""
        click.echo(f"There is no problem `{problem}`.{hint} `doctor list` shows them all.", err=True)
        return USAGE
    text = manual(entry)
    if form == "json":
        data = {
            "id": entry.id, "name": entry.name, "severity": entry.severity.value, "since": entry.since,
            "affects": dict(entry.affects), "title": text.title, "sections": text.sections,
        }  # fmt: skip
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return 0
    head = f"# {entry.id} {entry.name}\n\n{text.title}.\n"
    affects = ", ".join(f"{name} {spec}" for name, spec in entry.affects.items())
    head += f"\nSeverity: {entry.severity.value}." + (f" Affects: {affects}.\n" if affects else "\n")
    body = head + "".join(f"\n## {name}\n\n{section}\n" for name, section in text.sections.items())
    if form == "text" and sys.stdout.isatty():
        from doctor.render.console import console_for, draw_markdown

        draw_markdown(body, console_for(sys.stdout))
    else:
        click.echo(body, nl=False)
    return 0
