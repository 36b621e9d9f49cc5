"""`doctor schema`: the JSON schemas of what the doctor prints and saves."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("which", type=click.Choice(("report", "facts")), default="report")
def command(which: str) -> int:
    """Print the JSON schema of reports (doctor/1) or of facts files (doctor-facts/1)."""
    from doctor.core.schema import FACTS, REPORT

    click.echo(json.dumps(REPORT if which == "report" else FACTS, indent=2))
    return 0
