"""`doctor dev`: tools for those who write checks."""

from __future__ import annotations

from pathlib import Path

import click

import doctor
from doctor.core.problem import AREAS


@click.group()
def command() -> None:
    """Tools for those who write checks."""


@command.command("new")
@click.argument("area", type=click.Choice(sorted(AREAS)))
@click.argument("name")
@click.option(
    "--root", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Checkout of the doctor."
)
def new(area: str, name: str, root: Path) -> int:
    """Write the files of a new problem, with the next free id of its area."""
    from doctor.core.scaffold import ScaffoldError, scaffold

    try:
        for path in scaffold(root, area, name, doctor.__version__):
            click.echo(f"wrote {path}")
    except ScaffoldError as exc:
        raise click.UsageError(str(exc)) from None
    return 0


@command.command("docs")
@click.option(
    "--root", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Checkout of the doctor."
)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 when a page is out of date.")
def docs(root: Path, only_check: bool) -> int:
    """Write docs/problems and the table of areas in the READMEs from the catalogue."""
    from doctor.core.docs import pages, stale, with_area_table, write

    wanted = pages()
    readmes = {root / "README.md": "en", root / "README.zh.md": "zh"}
    fresh = {path: with_area_table(path.read_text(encoding="utf-8"), lang) for path, lang in readmes.items()}
    if only_check:
        old = stale(root / "docs" / "problems", wanted)
        old += [path for path, text in fresh.items() if path.read_text(encoding="utf-8") != text]
        for path in old:
            click.echo(f"out of date: {path}")
        return 1 if old else 0
    write(root / "docs" / "problems", wanted)
    for path, text in fresh.items():
        path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {len(wanted)} pages")
    return 0


@command.command("index")
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def index(target: Path) -> int:
    """Write the index of the catalogue to TARGET, as the wheel carries it."""
    import json

    from doctor.core.index import build, catalogue_roots

    target.write_text(json.dumps(build(catalogue_roots())), encoding="utf-8")
    return 0
