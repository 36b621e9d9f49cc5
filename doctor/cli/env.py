"""`doctor env`: a redacted environment report in Markdown, for issues."""

from __future__ import annotations

import os
from pathlib import Path

import click

NAMES = ("interpreter", "packages", "gpus", "cuda", "host", "environment", "hub", "ray_cluster", "nvidia", "network")


@click.command()
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix to describe.")
def command(python: str | None) -> int:
    """Print a redacted environment report to paste into an issue.

    \b
    doctor env
    doctor env --python ~/venvs/train > environment.md
    """
    from doctor.base.fact import Context
    from doctor.cli.check import refuse_wrong_python
    from doctor.diagnosis.diagnose import Patient, examine
    from doctor.render.environment import render

    context = Context((), Path.cwd(), dict(os.environ), python)
    refuse_wrong_python(context)
    collector = examine(context, Patient(), NAMES)
    click.echo(render(collector.states), nl=False)
    return 0
