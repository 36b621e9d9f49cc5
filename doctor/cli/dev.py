"""`doctor dev`: tools for those who write checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import doctor
from doctor.catalogue.problem import AREAS
from doctor.cli.outputs import Output

if TYPE_CHECKING:
    from doctor.catalogue.pages.scaffold import Shown


@click.group()
def command() -> None:
    """Tools for authors of checks."""


@command.command("new")
@click.argument("area", type=click.Choice(sorted(AREAS)))
@click.argument("name")
@click.option(
    "--signature", "log", type=click.Path(dir_okay=False, exists=True, path_type=Path), metavar="FILE.log",
    help="A log that shows it: the pattern is proposed, and the log is the first sample.",
)  # fmt: skip
@click.option("--check", "form", flag_value="check", help="Detected before launch, by a Python check.")
@click.option("--rule", "form", flag_value="rule", help="Detected in live series, by a Python rule.")
@click.option(
    "--root", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Checkout of the doctor."
)
def new(area: str, name: str, log: Path | None, form: str | None, root: Path) -> int:
    """Write the files of a new problem: its words in TOML, and what it is tried with.

    Without an option it is found in logs, by signatures. What is to be filled in says TO BE WRITTEN, and until then the
    tests fail.

    \b
    doctor dev new vllm socket-path-too-long --signature died.log
    doctor dev new gpu uncorrected-ecc --check
    """
    from doctor.catalogue.pages.scaffold import ScaffoldError, scaffold

    if log is not None and form is not None:
        msg = f"--signature and --{form} exclude each other"
        raise click.UsageError(msg)
    shown = _shown(log) if log is not None else None
    try:
        for path in scaffold(root, area, name, doctor.__version__, form=form or "signature", shown=shown):
            click.echo(f"wrote {path}")
    except ScaffoldError as exc:
        raise click.UsageError(str(exc)) from None
    return 0


def _shown(log: Path) -> Shown:
    """What a log shows of a problem: the line that the post-mortem calls the failure, as a pattern.

    Raises:
        click.UsageError: nothing in it can be made a pattern of.

    """
    from doctor.catalogue.pages.scaffold import Shown
    from doctor.logs.match.proposed import NothingToPropose, propose
    from doctor.logs.postmortem import examine

    findings = examine([str(log)]).diagnosis.outcome.findings
    first = findings[0] if findings else None
    if first is not None and first.problem.area != "unknown":
        click.echo(
            f"{first.problem.id} {first.problem.name} is already found in it: {first.words().headline}", err=True
        )
    line = first.where.line if first is not None and first.where.file == str(log) else None
    try:
        proposal = propose(log, line)
    except NothingToPropose as exc:
        raise click.UsageError(str(exc)) from None
    click.echo(f"line {proposal.line}: {proposal.pattern}", err=True)
    return Shown(proposal.pattern, proposal.frame, proposal.groups, proposal.sample)


@command.command("lint")
def lint() -> int:
    """Check the catalogue for faults that the schemas of its files cannot find; exit 1 if there are any."""
    from doctor.cli.dev_lint import faults_of_catalogue

    count = 0
    for count, fault in enumerate(faults_of_catalogue(), 1):  # noqa: B007 - told below
        click.echo(fault)
    click.echo(f"{count} faults" if count else "no fault found", err=True)
    return 1 if count else 0


@command.command("docs")
@click.argument("folder", type=Output(folder=True, makes_parents=True))
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 when a page is out of date.")
def docs(folder: Path, only_check: bool) -> int:
    """Write the manual of every problem as a page into FOLDER, with a list of all."""
    from doctor.catalogue.pages.docs import pages, stale, write

    wanted = pages()
    if only_check:
        old = stale(folder, wanted)
        for path in old:
            click.echo(f"out of date: {path}")
        return 1 if old else 0
    write(folder, wanted)
    click.echo(f"wrote {len(wanted)} pages")
    return 0


@command.command("index")
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
def index(folder: Path) -> int:
    """Write the index of the catalogue and its words into FOLDER, as the wheel carries them."""
    from doctor.catalogue.index import build, catalogue_roots, write

    write(build(catalogue_roots()), folder)
    return 0


@command.command("coverage")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text", show_default=True)
@click.option("--area", metavar="AREA", help="Only this area, a line a problem.")
@click.option(
    "--open", "only_open", is_flag=True, help="Only problems with a planned detector that is not written yet."
)
def coverage(form: str, area: str | None, only_open: bool) -> int:
    """Show how each problem can be detected before launch, during the run and after it; where it cannot, say why.

    \b
    doctor dev coverage
    doctor dev coverage --area vllm
    doctor dev coverage --open --format json
    """
    import json
    import sys

    from doctor.catalogue.index import load
    from doctor.catalogue.pages.coverage import COLUMNS, OPEN, TIMES, markdown, numbers
    from doctor.catalogue.pages.coverage import coverage as seen
    from doctor.render.console import console_for, draw_table

    rows = [each for each in seen(load()) if area is None or area in {each.area, each.id[:3]}]
    rows = [each for each in rows if not only_open or OPEN in each.why_not.values()]
    if form == "json":
        told = [
            {"id": each.id, "name": each.name, "area": each.area, **{time: each.told(time) for time in TIMES}}
            for each in rows
        ]
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
    elif form == "markdown":
        click.echo(markdown(tuple(rows)), nl=False)
    elif area is not None or only_open:
        lines = [(each.id, each.name, *(each.told(time) for time in TIMES)) for each in rows]
        draw_table(lines, ("id", "name", *TIMES), console_for(sys.stdout))
    else:
        lines = [(name, *map(str, counts.values())) for name, counts in numbers(rows).items()]
        draw_table(lines, ("area", *COLUMNS), console_for(sys.stdout))
    return 0
