"""`doctor schema`: the JSON schemas of what the doctor prints and saves."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument(
    "which", type=click.Choice(("report", "facts", "capsule", "hang", "reports", "brief")), default="report"
)
def command(which: str) -> int:
    """Print the JSON schema of what the doctor prints and saves.

    \b
    report   a report (doctor/1)
    brief    a report of --format json --brief (doctor-brief/1)
    reports  the reports of several runs in one document (doctor-reports/1)
    facts    a facts file (doctor-facts/1)
    capsule  what a process held when it failed (doctor-capsule/1)
    hang     an inspection of a stalled run (doctor-hang/1)
    """
    from doctor.diagnosis.brief_schema import BRIEF
    from doctor.diagnosis.capsule_schema import CAPSULE
    from doctor.diagnosis.hang_schema import HANG
    from doctor.diagnosis.schema import FACTS, REPORT, REPORTS

    schemas = {"report": REPORT, "reports": REPORTS, "facts": FACTS, "capsule": CAPSULE, "hang": HANG, "brief": BRIEF}
    click.echo(json.dumps(schemas[which], indent=2))
    return 0
